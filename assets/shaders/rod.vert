// SPDX-License-Identifier: GPL-3.0-or-later
// One capsule: a quad around the rod, one pixel wider than the rod on each side.
// Lengths are in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec4 a_rod;        // x, y, theta, activity; one a rod

uniform float u_half_length; // half of the core length
uniform float u_radius;
uniform float u_pixel;       // side of a pixel

varying vec2 v_local;        // along and across the rod, from its centre
varying vec2 v_place;        // in the box
varying float v_activity;

void main() {
    vec2 along = vec2(cos(a_rod.z), sin(a_rod.z));
    vec2 across = vec2(-along.y, along.x);
    v_local = a_corner * (vec2(u_half_length, 0.0) + u_radius + u_pixel);
    v_place = a_rod.xy + v_local.x * along + v_local.y * across;
    v_activity = a_rod.w;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
