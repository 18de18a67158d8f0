// SPDX-License-Identifier: GPL-3.0-or-later
// The whole box, as a ground for a field.
attribute vec2 a_corner;     // corner of the box, (-1, -1) to (1, 1)

uniform float u_space_size;

varying vec2 v_at;           // in the box, 0 to 1

void main() {
    v_at = 0.5 * a_corner + 0.5;
    gl_Position = $transform(vec4(v_at * u_space_size, 0.0, 1.0));
}
