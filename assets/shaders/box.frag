// SPDX-License-Identifier: GPL-3.0-or-later
// The outline lies outside of the box, or of the circle, so that it never hides a rod.
uniform float u_space_size;
uniform float u_pixel;
uniform float u_line;
uniform float u_round;       // 1 for a circle
uniform vec3 u_edge;

varying vec2 v_place;

void main() {
    vec2 beyond = max(-v_place, v_place - u_space_size) / u_pixel;
    float outward = max(beyond.x, beyond.y);   // pixels outside of the box, negative inside
    if (u_round > 0.5)
        outward = (length(v_place - 0.5 * u_space_size) - 0.5 * u_space_size) / u_pixel;
    float covered = clamp(u_line + 0.5 - outward, 0.0, 1.0) - clamp(0.5 - outward, 0.0, 1.0);
    gl_FragColor = vec4(u_edge * covered, covered);
}
