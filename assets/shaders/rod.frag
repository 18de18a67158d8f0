// SPDX-License-Identifier: GPL-3.0-or-later
// Coverage of the pixel by the capsule, and its colour. Lengths are turned into pixels first.
uniform float u_half_length;
uniform float u_radius;
uniform float u_pixel;
uniform float u_enlarged;  // pixels drawn, a side, for one that is seen
uniform float u_space_size;
uniform float u_round;     // 1 for a circle
uniform float u_heads;     // 1 where heads are marked
uniform vec3 u_ink;
uniform vec3 u_ground;
uniform float u_opacity;

varying vec2 v_local;
varying vec2 v_place;
varying vec3 v_color;

// How much of a pixel at distance s from the middle of a band of half width r is covered.
float covered(float s, float r) {
    return clamp(min(s + 0.5, r) - max(s - 0.5, -r), 0.0, 1.0);
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
    vec2 p = abs(v_local) / u_pixel;
    float r = u_radius / u_pixel;
    float h = u_half_length / u_pixel;
    float s = length(vec2(max(p.x - h, 0.0), p.y));  // distance from the core

    // The distance gives exact round ends where a rod is wider than a pixel. A thinner one is a
    // rectangle of the capsule's area (a half disc is as long as pi/4 r), so that it fades to what
    // it covers and a crowd of rods keeps its brightness at any zoom.
    float thin = covered(p.y, r) * covered(p.x, h + 0.785398 * r);
    float coverage = mix(thin, covered(s, r), smoothstep(0.5, 1.5, r));

    coverage *= within() * u_opacity;

    // The front half keeps the colour of the colour bar. A darker tail shows where a rod is heading,
    // a dark rim keeps touching rods apart; both go where a rod is too thin to show them.
    float wide = smoothstep(1.0, 3.0, r / u_enlarged);
    float rim = smoothstep(0.68, 0.88, s / r);
    float tail = 1.0 - smoothstep(-1.0, 0.0, v_local.x / (u_half_length + u_radius));
    vec3 color = v_color * (1.0 - wide * (1.0 - (1.0 - 0.55 * rim) * (1.0 - 0.28 * tail)));

    // A marked head has the colour of the ink, and the tail fades into the ground: light on dark and
    // dark on white, so that one of the two shows on every colour, at any size.
    float ahead = v_local.x / (u_half_length + u_radius);
    vec3 faded = mix(color, u_ground, 0.6 * (1.0 - smoothstep(-1.0, 0.3, ahead)));
    vec3 marked = mix(faded, u_ink, 0.85 * smoothstep(0.5, 0.62, ahead));
    color = mix(color, marked, u_heads);
    gl_FragColor = vec4(color * coverage, coverage);
}
