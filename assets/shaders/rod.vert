// SPDX-License-Identifier: GPL-3.0-or-later
// One capsule: a quad around the rod, half a pixel wider than the rod on each side, which is as far
// as it touches pixels. Lengths are in model units.
attribute vec2 a_corner;     // corner of the quad, (-1, -1) to (1, 1)
attribute vec4 a_rod;        // x, y, theta, activity; one a rod

uniform float u_half_length; // half of the core length
uniform float u_radius;
uniform float u_pixel;       // side of a pixel
uniform sampler1D u_colors;
uniform float u_color_count;

varying vec2 v_local;        // along and across the rod, from its centre
varying vec2 v_place;        // in the box
varying vec3 v_color;

void main() {
    vec2 along = vec2(cos(a_rod.z), sin(a_rod.z));
    vec2 across = vec2(-along.y, along.x);
    v_local = a_corner * (vec2(u_half_length, 0.0) + u_radius + 0.5 * u_pixel);
    v_place = a_rod.xy + v_local.x * along + v_local.y * across;
    float at = (clamp(a_rod.w, 0.0, 1.0) * (u_color_count - 1.0) + 0.5) / u_color_count;
    v_color = texture1D(u_colors, at).rgb;
    gl_Position = $transform(vec4(v_place, 0.0, 1.0));
}
