// SPDX-License-Identifier: GPL-3.0-or-later
// One rounded rectangle: a quad around it, a pixel wider on each side. Lengths are in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec4 a_place;      // x, y, cos and sin of its angle; one a shape
attribute vec4 a_size;       // half width, half height, radius; 1 for an outline alone

uniform float u_pixel;       // side of a pixel
uniform float u_line;        // width of an outline in pixels

varying vec2 v_local;        // from its centre, along its sides
varying vec2 v_place;        // in the box
varying vec4 v_size;

void main() {
    v_size = a_size;
    v_local = a_corner * (a_size.xy + a_size.z + (u_line + 1.0) * u_pixel);
    vec2 along = a_place.zw;
    v_place = a_place.xy + v_local.x * along + v_local.y * vec2(-along.y, along.x);
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
