// SPDX-License-Identifier: GPL-3.0-or-later
// A part of the legend: a picture shown pixel for pixel.
attribute vec2 a_corner;

uniform vec2 u_place;        // of its top left corner, in pixels
uniform vec2 u_size;         // in pixels

varying vec2 v_at;

void main() {
    v_at = 0.5 * a_corner + 0.5;
    gl_Position = $transform(vec4(u_place + v_at * u_size, 0.0, 1.0));
}
