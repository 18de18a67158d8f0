// SPDX-License-Identifier: GPL-3.0-or-later
// One rounded rectangle: a quad around it, with room for its outline. Lengths are in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec4 a_place;      // its centre, and the cosine and sine of its angle; one a shape
attribute vec4 a_size;       // half width, half height, radius; 1 where the outline stands alone

uniform float u_pixel;       // side of a pixel
uniform float u_line;        // width of the outline, in pixels

varying vec2 v_local;        // from its centre, along its sides
varying vec2 v_place;        // in the box
varying vec4 v_size;

void main() {
    v_size = a_size;
    float room = u_pixel * (1.0 + a_size.w * (u_line + 2.0));
    v_local = a_corner * (a_size.xy + a_size.z + room);
    vec2 along = a_place.zw;
    v_place = a_place.xy + mat2(along, vec2(-along.y, along.x)) * v_local;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
