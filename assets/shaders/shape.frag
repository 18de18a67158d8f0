// SPDX-License-Identifier: GPL-3.0-or-later
// Coverage of the pixel by a rounded rectangle, and its outline, which lies inside of it.
uniform float u_pixel;
uniform float u_line;
uniform float u_space_size;
uniform vec3 u_fill;
uniform vec3 u_edge;

varying vec2 v_local;
varying vec2 v_place;
varying vec3 v_size;

void main() {
    vec2 beyond = abs(v_local) - v_size.xy;
    float apart = length(max(beyond, 0.0)) + min(max(beyond.x, beyond.y), 0.0) - v_size.z;
    float d = apart / u_pixel;  // negative inside
    float coverage = clamp(0.5 - d, 0.0, 1.0);
    vec3 color = mix(u_fill, u_edge, clamp(d + u_line + 0.5, 0.0, 1.0));
    vec2 inside = clamp(min(v_place, u_space_size - v_place) / u_pixel + 0.5, 0.0, 1.0);
    coverage *= inside.x * inside.y;
    gl_FragColor = vec4(color * coverage, coverage);
}
