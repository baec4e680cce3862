// Draws rows as points with WebGL2. A scene is what the map wants to see; see `draw`.

import { COLOURS } from "./looks.js";

const VERTEX = `#version 300 es
in vec3 position;
in vec4 look; // colour, shape, certainty, marks
uniform mat3 turning;
uniform vec2 scale, shift;
uniform float radius, ratio;
uniform int pass; // 0: all rows, 1: rings
uniform vec3 palette[${COLOURS + 1}];
uniform vec3 ring, chosen;
out vec4 colour;
out vec4 edge;
flat out int shape;
flat out float pixels;
void main() {
  vec3 p = turning * position;
  gl_Position = vec4(p.xy * scale + shift, -0.4 * p.z, 1.0);
  int marks = int(look.w);
  bool faded = (marks & 4) != 0;
  float alpha = 0.22 + 0.78 * pow(look.z / 255.0, 1.5);
  if (faded) alpha *= 0.12;
  colour = vec4(palette[int(look.x)], alpha);
  shape = int(look.y);
  edge = vec4(0.0);
  pixels = radius * ratio;
  if (pass == 1) {
    colour.a = faded ? 0.3 : 1.0;
    edge = vec4((marks & 2) != 0 ? chosen : ring, faded ? 0.3 : 1.0);
    pixels = (max(radius, 2.5) + 1.0) * ratio;
  }
  gl_PointSize = 2.0 * (pixels + (pass == 1 ? 3.0 * ratio : 1.0));
}`;

const FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
in vec4 colour;
in vec4 edge;
flat in int shape;
flat in float pixels;
uniform int pass;
uniform float ratio;
uniform bool solid;
uniform vec3 paper;
out vec4 result;
float distanceTo(vec2 p) {
  vec2 q = abs(p);
  if (shape == 1) return max(q.x, q.y) - 0.75;
  if (shape == 2) return max(q.x * 0.87 - p.y * 0.5 - 0.5, p.y - 0.62);
  if (shape == 3) return (q.x + q.y - 1.0) * 0.707;
  if (shape == 4) { vec2 r = vec2(q.x + q.y, abs(q.x - q.y)) * 0.707; return max(r.x - 0.95, r.y - 0.28); }
  if (shape == 5) return max(max(q.x, q.y) - 0.95, min(q.x, q.y) - 0.28);
  return length(p) - 0.85;
}
void main() {
  float margin = pass == 1 ? 3.0 * ratio : 1.0;
  vec2 p = (gl_PointCoord * 2.0 - 1.0) * (pixels + margin) / pixels;
  float away = distanceTo(p) * pixels;
  float cover = clamp(0.5 - away, 0.0, 1.0) * colour.a;
  vec3 tone = colour.rgb;
  if (pass == 1) {
    // A gap of paper, then the ring.
    float outer = clamp(0.5 + 2.6 * ratio - away, 0.0, 1.0), inner = clamp(0.5 + 0.9 * ratio - away, 0.0, 1.0);
    tone = mix(edge.rgb, mix(paper, tone, clamp(0.5 - away, 0.0, 1.0)), inner);
    cover = outer * edge.a;
  }
  if (cover < 0.02) discard;
  if (solid) {
    if (cover < 0.1) discard;
    result = vec4(mix(paper, tone, cover), 1.0);
  } else result = vec4(tone * cover, cover);
}`;

const DENSITY_VERTEX = `#version 300 es
in vec2 corner;
uniform vec2 scale, shift;
out vec2 at;
void main() { at = corner * 0.5 + 0.5; gl_Position = vec4(corner * scale + shift, 0.0, 1.0); }`;

const DENSITY_FRAGMENT = `#version 300 es
precision mediump float;
in vec2 at;
uniform sampler2D image;
out vec4 result;
void main() { result = texture(image, at); }`;

function program(gl, vertex, fragment) {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(made, shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) || "shader");
  const uniforms = {};
  const count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS);
  for (let i = 0; i < count; i++) {
    const name = gl.getActiveUniform(made, i).name.replace("[0]", "");
    uniforms[name] = gl.getUniformLocation(made, name);
  }
  return { made, uniforms };
}

export class Painter {
  /** Fails where WebGL2 is missing. */
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("no WebGL2");
    this.gl = gl;
    this.canvas = canvas;
    this.points = program(gl, VERTEX, FRAGMENT);
    this.image = program(gl, DENSITY_VERTEX, DENSITY_FRAGMENT);
    this.buffers = { position: gl.createBuffer(), look: gl.createBuffer(), rings: gl.createBuffer() };
    this.rows = this.array(this.points, [["position", this.buffers.position, 3, gl.FLOAT], ["look", this.buffers.look, 4, gl.UNSIGNED_BYTE]]);
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([-1, -1, 1, -1, -1, 1, 1, 1]), gl.STATIC_DRAW);
    this.square = this.array(this.image, [["corner", corners, 2, gl.FLOAT]]);
    this.texture = gl.createTexture();
  }

  array({ made }, attributes) {
    const gl = this.gl;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    for (const [name, buffer, size, type] of attributes) {
      const place = gl.getAttribLocation(made, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, type, false, 0, 0);
    }
    return array;
  }

  fill(target, buffer, values) {
    this.gl.bindVertexArray(null);
    this.gl.bindBuffer(target, buffer);
    this.gl.bufferData(target, values, this.gl.DYNAMIC_DRAW);
  }

  /** x, y, z of every row, in the order in which rows are drawn. */
  setPositions(positions) {
    this.fill(this.gl.ARRAY_BUFFER, this.buffers.position, positions);
  }

  /** Four bytes per row: colour, shape, certainty, marks. */
  setLooks(looks) {
    this.fill(this.gl.ARRAY_BUFFER, this.buffers.look, looks);
  }

  /** Numbers of the rows with a ring. */
  setRings(rings) {
    this.fill(this.gl.ELEMENT_ARRAY_BUFFER, this.buffers.rings, rings);
    this.ringed = rings.length;
  }

  setDensity(size, pixels) {
    const gl = this.gl;
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, true);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, size, size, 0, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    for (const side of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, side, gl.CLAMP_TO_EDGE);
    for (const use of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, use, gl.LINEAR);
  }

  /** Draw the density or the ranges of rows, then the rings. */
  draw({ camera, ranges, density, radius, ratio, colours }) {
    const gl = this.gl;
    const [sx, sy] = camera.scale;
    const scale = [(2 * sx) / camera.width, (2 * sy) / camera.height];
    const shift = [-camera.x * scale[0], -camera.y * scale[1]];
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.disable(gl.DEPTH_TEST);
    if (density) {
      gl.useProgram(this.image.made);
      gl.uniform2fv(this.image.uniforms.scale, scale);
      gl.uniform2fv(this.image.uniforms.shift, shift);
      gl.bindVertexArray(this.square);
      gl.bindTexture(gl.TEXTURE_2D, this.texture);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    const { made, uniforms } = this.points;
    gl.useProgram(made);
    gl.uniform2fv(uniforms.scale, scale);
    gl.uniform2fv(uniforms.shift, shift);
    gl.uniformMatrix3fv(uniforms.turning, true, camera.turning);
    gl.uniform1f(uniforms.radius, radius);
    gl.uniform1f(uniforms.ratio, ratio);
    const unit = colour => colour.map(value => value / 255);
    gl.uniform3fv(uniforms.palette, colours.palette.flatMap(unit));
    for (const name of ["paper", "ring", "chosen"]) gl.uniform3fv(uniforms[name], unit(colours[name]));
    const space = camera.dimensions === 3;
    gl.uniform1i(uniforms.solid, space);
    if (space) gl.enable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.rows);
    gl.uniform1i(uniforms.pass, 0);
    for (const [start, end] of ranges) gl.drawArrays(gl.POINTS, start, end - start);
    gl.disable(gl.DEPTH_TEST);
    gl.uniform1i(uniforms.solid, 0);
    gl.uniform1i(uniforms.pass, 1);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.rings);
    gl.drawElements(gl.POINTS, this.ringed, gl.UNSIGNED_INT, 0);
  }
}
