// SPDX-License-Identifier: GPL-3.0-or-later
// A shaft with a head, in the ink's colour with a rim in the ground's, so that it shows on all rods.
uniform float u_width;
uniform float u_pixel;
uniform float u_space_size;
uniform float u_round;     // 1 for a circle
uniform vec3 u_ink;
uniform vec3 u_ground;

varying vec2 v_local;
varying vec2 v_place;
varying float v_half;

// How much of a pixel is within the box, or within the circle that touches its sides.
float within() {
    if (u_round > 0.5)
        return clamp((0.5 * u_space_size - length(v_place - 0.5 * u_space_size)) / u_pixel + 0.5,
                     0.0, 1.0);
    vec2 inside = clamp(min(v_place, u_space_size - v_place) / u_pixel + 0.5, 0.0, 1.0);
    return inside.x * inside.y;
}

void main() {
    float head = min(3.0 * u_width, v_half);   // as long as it is wide; less on a short arrow
    float back = v_half - v_local.x;           // from the tip backwards
    float y = abs(v_local.y);
    float shaft = max(max(head - back, -v_half - v_local.x), y - 0.5 * u_width);
    // The side of the head falls by half of its length to the tip.
    float tip = max(back - head, (y - 0.5 * back) * 0.894427);
    float outside = min(shaft, tip) / u_pixel; // pixels, negative inside
    float rim = max(1.5, 0.35 * u_width / u_pixel);
    float ink = clamp(0.5 - outside, 0.0, 1.0);
    float all = clamp(0.5 - outside + rim, 0.0, 1.0);
    all *= within();
    gl_FragColor = vec4(mix(u_ground, u_ink, ink) * all, all);
}
