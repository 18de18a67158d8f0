// SPDX-License-Identifier: GPL-3.0-or-later
// A line that fades towards its older end. Its two ends are cut straight, so that where one joins
// the next nothing is covered twice.
uniform float u_width;
uniform float u_pixel;
uniform float u_space_size;
uniform vec3 u_ink;

varying vec2 v_place;
varying float v_across;
varying float v_left;

void main() {
    float s = abs(v_across) / u_pixel;
    float r = 0.5 * u_width / u_pixel;
    // How much of a pixel at that distance from the middle is covered.
    float coverage = clamp(min(s + 0.5, r) - max(s - 0.5, -r), 0.0, 1.0);
    vec2 inside = clamp(min(v_place, u_space_size - v_place) / u_pixel + 0.5, 0.0, 1.0);
    coverage *= inside.x * inside.y * 0.7 * v_left;
    gl_FragColor = vec4(u_ink * coverage, coverage);
}
