// SPDX-License-Identifier: GPL-3.0-or-later
// The whole box, in which a circle is filled.
attribute vec2 a_corner;     // corner of the box, (-1, -1) to (1, 1)

uniform float u_space_size;

varying vec2 v_place;        // in the box

void main() {
    v_place = (0.5 * a_corner + 0.5) * u_space_size;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
