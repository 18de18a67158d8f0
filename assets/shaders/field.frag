// SPDX-License-Identifier: GPL-3.0-or-later
uniform sampler2D u_places;  // place on the colour map; repeats as a periodic box does
uniform sampler1D u_colors;
uniform float u_color_count;
uniform float u_space_size;
uniform float u_pixel;
uniform float u_round;       // 1 for a circle

varying vec2 v_at;

void main() {
    float at = texture2D(u_places, v_at).r;
    at = (at * (u_color_count - 1.0) + 0.5) / u_color_count;
    float out_of = length(v_at - 0.5) * u_space_size;
    float within = clamp((0.5 * u_space_size - out_of) / u_pixel + 0.5, 0.0, 1.0);
    gl_FragColor = vec4(texture1D(u_colors, at).rgb, 1.0) * mix(1.0, within, u_round);
}
