// SPDX-License-Identifier: GPL-3.0-or-later
// The outline of the box, or of a circle: a ring around it, in model units.
attribute vec2 a_corner;     // corner of the box, (-1, -1) to (1, 1), or of a polygon
attribute float a_outer;     // 1 on the outer side of the ring, 0 on the inner one

uniform float u_space_size;
uniform float u_pixel;
uniform float u_line;        // width of the outline in pixels

varying vec2 v_place;

void main() {
    float half_size = 0.5 * u_space_size;
    float outward = mix(-2.0, u_line + 2.0, a_outer);
    v_place = a_corner * (half_size + outward * u_pixel) + half_size;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
