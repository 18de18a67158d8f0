// SPDX-License-Identifier: GPL-3.0-or-later
// One arrow: a quad around it. Lengths are in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec4 a_arrow;      // x, y, angle, length; one an arrow

uniform float u_width;       // of the shaft
uniform float u_pixel;       // side of a pixel

varying vec2 v_local;        // along and across the arrow, from its middle
varying vec2 v_place;        // in the box
varying float v_half;        // half of its length

void main() {
    vec2 along = vec2(cos(a_arrow.z), sin(a_arrow.z));
    v_half = 0.5 * a_arrow.w;
    v_local = a_corner * (vec2(v_half, 1.5 * u_width) + u_width + 3.0 * u_pixel);
    v_place = a_arrow.xy + v_local.x * along + v_local.y * vec2(-along.y, along.x);
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
