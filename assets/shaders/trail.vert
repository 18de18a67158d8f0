// SPDX-License-Identifier: GPL-3.0-or-later
// One line of a trail: a quad as long as the line, wider by half a pixel on each side. Lengths are
// in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec4 a_line;       // x and y of its older end, then of its newer one; one a line
attribute vec2 a_left;       // what is left of the trail's time at each of the two

uniform float u_width;
uniform float u_pixel;       // side of a pixel

varying vec2 v_place;        // in the box
varying float v_across;
varying float v_left;

void main() {
    vec2 along = normalize(a_line.zw - a_line.xy);
    float newer = 0.5 * a_corner.x + 0.5;
    v_across = a_corner.y * 0.5 * (u_width + u_pixel);
    v_left = mix(a_left.x, a_left.y, newer);
    v_place = mix(a_line.xy, a_line.zw, newer) + v_across * vec2(-along.y, along.x);
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
