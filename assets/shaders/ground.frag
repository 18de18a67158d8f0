// SPDX-License-Identifier: GPL-3.0-or-later
uniform float u_space_size;
uniform float u_pixel;
uniform vec3 u_fill;

varying vec2 v_place;

void main() {
    float inward = 0.5 * u_space_size - length(v_place - 0.5 * u_space_size);
    float within = clamp(inward / u_pixel + 0.5, 0.0, 1.0);
    gl_FragColor = vec4(u_fill * within, within);
}
