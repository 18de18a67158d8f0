// SPDX-License-Identifier: GPL-3.0-or-later
// Coverage of the pixel by a rounded rectangle, or by its outline, which lies outside of it where it
// stands alone, so that it hides nothing of what it marks.
uniform float u_pixel;
uniform float u_line;
uniform float u_space_size;
uniform float u_round;     // 1 for a circle
uniform vec3 u_fill;
uniform vec3 u_edge;
uniform vec3 u_ground;

varying vec2 v_local;
varying vec2 v_place;
varying vec4 v_size;

float band(float d, float from, float to) {
    return clamp(to - d + 0.5, 0.0, 1.0) - clamp(from - d + 0.5, 0.0, 1.0);
}

// How much of a pixel is within the box, or within the circle that touches its sides.
float within() {
    if (u_round > 0.5)
        return clamp((0.5 * u_space_size - length(v_place - 0.5 * u_space_size)) / u_pixel + 0.5,
                     0.0, 1.0);
    vec2 inside = clamp(min(v_place, u_space_size - v_place) / u_pixel + 0.5, 0.0, 1.0);
    return inside.x * inside.y;
}

void main() {
    vec2 beyond = abs(v_local) - v_size.xy;
    float apart = length(max(beyond, 0.0)) + min(max(beyond.x, beyond.y), 0.0) - v_size.z;
    float d = apart / u_pixel;  // negative inside
    float marks = v_size.w;

    // An outline alone has a rim of the ground on either side, so that it shows on every colour.
    float edge = mix(band(d, -u_line, 0.0), band(d, 0.0, u_line), marks);
    float rim = marks * band(d, -1.0, u_line + 1.0);
    float fill = (1.0 - marks) * clamp(0.5 - d, 0.0, 1.0);
    float coverage = max(max(edge, fill), rim);
    vec3 color = mix(mix(u_fill, u_ground, marks), u_edge, edge / max(coverage, 1e-4));

    coverage *= mix(within(), 1.0, marks);
    gl_FragColor = vec4(color * coverage, coverage);
}
