// SPDX-License-Identifier: GPL-3.0-or-later
// One rounded rectangle: a quad around it, a pixel wider on each side. Lengths are in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec2 a_place;      // its centre; one a shape
attribute vec3 a_size;       // half width, half height, radius

uniform float u_pixel;       // side of a pixel

varying vec2 v_local;        // from its centre
varying vec2 v_place;        // in the box
varying vec3 v_size;

void main() {
    v_size = a_size;
    v_local = a_corner * (a_size.xy + a_size.z + u_pixel);
    v_place = a_place + v_local;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
