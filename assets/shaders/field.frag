// SPDX-License-Identifier: GPL-3.0-or-later
uniform sampler2D u_places;  // place on the colour map; repeats as the box does
uniform sampler1D u_colors;
uniform float u_color_count;

varying vec2 v_at;

void main() {
    float at = texture2D(u_places, v_at).r;
    at = (at * (u_color_count - 1.0) + 0.5) / u_color_count;
    gl_FragColor = vec4(texture1D(u_colors, at).rgb, 1.0);
}
