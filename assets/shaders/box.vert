// SPDX-License-Identifier: GPL-3.0-or-later
// The periodic box with its outline: a quad a little larger than the box, in model units.
attribute vec2 a_corner;

uniform float u_space_size;
uniform float u_pixel;
uniform float u_line;        // width of the outline in pixels

varying vec2 v_place;

void main() {
    float half_size = 0.5 * u_space_size;
    v_place = a_corner * (half_size + (u_line + 1.0) * u_pixel) + half_size;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
