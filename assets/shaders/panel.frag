// SPDX-License-Identifier: GPL-3.0-or-later
uniform sampler2D u_image;   // alpha already multiplied in

varying vec2 v_at;

void main() {
    gl_FragColor = texture2D(u_image, v_at);
}
