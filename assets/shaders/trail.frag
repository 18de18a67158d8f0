// SPDX-License-Identifier: GPL-3.0-or-later
// A line that fades towards its older end. Its two ends are cut straight, so that where one joins
// the next nothing is covered twice.
uniform float u_width;
uniform float u_pixel;
uniform float u_space_size;
uniform float u_round;     // 1 for a circle
uniform vec3 u_ink;

varying vec2 v_place;
varying float v_across;
varying float v_left;

// How much of a pixel is within the box, or within the circle that touches its sides.
float within() {
    if (u_round > 0.5)
        return clamp((0.5 * u_space_size - length(v_place - 0.5 * u_space_size)) / u_pixel + 0.5,
                     0.0, 1.0);
    vec2 inside = clamp(min(v_place, u_space_size - v_place) / u_pixel + 0.5, 0.0, 1.0);
    return inside.x * inside.y;
}

void main() {
    float s = abs(v_across) / u_pixel;
    float r = 0.5 * u_width / u_pixel;
    // How much of a pixel at that distance from the middle is covered.
    float coverage = clamp(min(s + 0.5, r) - max(s - 0.5, -r), 0.0, 1.0);
    coverage *= within() * 0.7 * v_left;
    gl_FragColor = vec4(u_ink * coverage, coverage);
}
