"use strict";
// A small renderer in plain WebGL: layers of coloured vertices, drawn as squares, discs or lines. It draws when it is
// told to and never on its own.

const VERTEX_SHADER = `
attribute vec3 position;
attribute vec3 color;
uniform mat4 clip_from_scene;
uniform vec2 shift;
uniform mediump float size;
uniform vec4 paint;
varying vec3 shown;
void main() {
  gl_Position = clip_from_scene * vec4(position, 1.0);
  gl_Position.xy += shift * gl_Position.w;
  gl_PointSize = size;
  shown = mix(color, paint.rgb, paint.a);
}`;

const FRAGMENT_SHADER = `
precision mediump float;
varying vec3 shown;
uniform float size;
uniform float opacity;
uniform bool is_disc;
void main() {
  float inside = is_disc ? clamp((0.5 - distance(gl_PointCoord, vec2(0.5))) * size, 0.0, 1.0) : 1.0;
  gl_FragColor = vec4(shown, 1.0) * opacity * inside;
}`;

const ATTRIBUTES = ["position", "color"];
const UNIFORMS = ["clip_from_scene", "shift", "size", "paint", "opacity", "is_disc"];

function compileProgram(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX_SHADER], [gl.FRAGMENT_SHADER, FRAGMENT_SHADER]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  ATTRIBUTES.forEach((name, k) => gl.bindAttribLocation(program, k, name));
  gl.linkProgram(program);
  return program;
}

/** Vertices on the graphics card: `positions` three floats each, `colors` three bytes each. */
function createLayer(gl, positions, colors) {
  const [positionBuffer, colorBuffer] = [gl.createBuffer(), gl.createBuffer()];
  const fill = (buffer, values) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
  };
  fill(positionBuffer, positions);
  fill(colorBuffer, colors);
  return {
    count: positions.length / 3,
    recolor: (values) => fill(colorBuffer, values),
    bind() {
      gl.bindBuffer(gl.ARRAY_BUFFER, positionBuffer);
      gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
      gl.bindBuffer(gl.ARRAY_BUFFER, colorBuffer);
      gl.vertexAttribPointer(1, 3, gl.UNSIGNED_BYTE, true, 0, 0);
    },
  };
}

/**
 * What draws layers on a canvas; null where the browser has no WebGL. Squares hide what is behind them; discs and lines
 * have soft edges and come after them. Sizes are in the canvas's own pixels. `part` is {first, count, paint}: some of
 * the vertices, in one colour (three numbers up to 1) instead of their own.
 */
function createRenderer(canvas) {
  // Soft edges are made below: WebGL's own make a frame take three times as long where there is no graphics card.
  const gl = canvas.getContext("webgl", { antialias: false });
  if (!gl) return null;
  const program = compileProgram(gl);
  const at = Object.fromEntries(UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]));
  gl.useProgram(program);
  gl.enable(gl.DEPTH_TEST);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  ATTRIBUTES.forEach((_, k) => gl.enableVertexAttribArray(k));

  /** Vertices of a layer in a style, where `shift` counts halves of a pixel. */
  function draw(mode, layer, { size = 1, opacity = 1, isDisc = false, shift = [0, 0] }, part) {
    const { first = 0, count = layer.count, paint = null } = part;
    gl.uniform1f(at.size, size);
    gl.uniform1f(at.opacity, opacity);
    gl.uniform1i(at.is_disc, isDisc);
    gl.uniform2f(at.shift, shift[0] / canvas.width, shift[1] / canvas.height);
    gl.uniform4fv(at.paint, paint ? [...paint, 1] : [0, 0, 0, 0]);
    layer.bind();
    gl.drawArrays(mode, first, count);
  }
  function setSoft(isSoft) {
    gl[isSoft ? "enable" : "disable"](gl.BLEND);
    gl.depthMask(!isSoft);
  }
  return {
    layer: (positions, colors) => createLayer(gl, positions, colors),
    begin(matrix) {
      setSoft(false);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.uniformMatrix4fv(at.clip_from_scene, false, matrix);
    },
    squares(layer, size) {
      setSoft(false);
      draw(gl.POINTS, layer, { size }, {});
    },
    discs(layer, size, part = {}) {
      setSoft(true);
      draw(gl.POINTS, layer, { size, isDisc: true }, part);
    },
    // WebGL's lines are one pixel wide and hard: some thin ones around the place make one that is broader and soft.
    lines(layer, width, part = {}) {
      setSoft(true);
      const num = 4 * Math.max(1, Math.ceil((width - 1) / 2));
      for (let k = 0; k < num; k += 1) {
        const angle = (2 * Math.PI * (k + 0.25)) / num;
        const shift = [(width - 1) * Math.cos(angle), (width - 1) * Math.sin(angle)];
        draw(gl.LINES, layer, { opacity: 0.55, shift }, part);
      }
    },
  };
}
