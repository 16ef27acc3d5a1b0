import { SagaValidationError } from '../../errors.js';
import { drawingOptions } from '../options/drawing-options.js';

/** What is drawn: steps by name, each after those that it waits for, and the edges between them. */
export interface DrawableGraph {
  /** Each name once. */
  readonly steps: readonly { readonly name: string }[];
  /** From a step to one that waits for it. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

/** Where to draw everything, in pixels from the upper left corner. Coordinates are whole or half numbers. */
export interface GraphLayout {
  /** The width of the whole drawing, in pixels. */
  readonly width: number;
  /** The height of the whole drawing, in pixels. */
  readonly height: number;
  /** In the order of the steps. */
  readonly nodes: readonly NodeBox[];
  /** In the order of the edges. */
  readonly edges: readonly EdgeLine[];
}

/** The box of a step. */
export interface NodeBox {
  /** The step's. */
  readonly name: string;
  /** The horizontal position of the upper left corner. */
  readonly x: number;
  /** The vertical position of the upper left corner. */
  readonly y: number;
  /** In pixels. */
  readonly width: number;
  /** In pixels. */
  readonly height: number;
}

/** From the middle of one box's lower side to the middle of another's upper side, past the boxes in between. */
export interface EdgeLine {
  /** A step by name. */
  readonly from: string;
  /** A step by name. */
  readonly to: string;
  /** The corners of the line, its ends included. */
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

/** Sizes for `layoutOf()`, in pixels. */
export interface LayoutOptions {
  /** Width of a step's box, in pixels. Default: as its name may need at 14 px, within bounds. */
  widthOf?: (name: string) => number;
  /** Height of every box, in pixels; default 48. */
  height?: number;
  /** Room between boxes side by side, in pixels; default 32. */
  columnGap?: number;
  /** Room between a layer of boxes and the next, for the edges, in pixels; default 48. */
  rowGap?: number;
  /** Room around everything, in pixels; default 16. */
  margin?: number;
}

const DEFAULTS: Required<LayoutOptions> = {
  widthOf: textWidth,
  height: 48,
  columnGap: 32,
  rowGap: 48,
  margin: 16,
};

/** A step, or the place where an edge passes a layer between its ends. */
interface Item {
  readonly passing: boolean;
  readonly layer: number;
  readonly width: number;
  readonly above: Item[];
  readonly below: Item[];
  /** Place in its layer. */
  place: number;
  /** The position of the middle. */
  x: number;
}

const CROSSING_SWEEPS = 24;
const ALIGNING_SWEEPS = 12;
/** Weight of the places where an edge passes a layer; that of a step is 1. Bent edges look worse than shifted boxes. */
const STRAIGHTNESS = 8;

/**
 * A layered drawing (Sugiyama, Tagawa and Toda, 1981): a step lies one layer below the lowest of those that it waits
 * for, so that layers read as what may run at the same time. A function of its arguments; runs in browsers too.
 */
export function layoutOf(graph: DrawableGraph, options: LayoutOptions = {}): GraphLayout {
  const { widthOf, ...sizes } = drawingOptions('layoutOf', options, DEFAULTS);
  const { height, columnGap, rowGap, margin } = sizes;
  if (typeof widthOf !== 'function')
    throw new SagaValidationError('layoutOf(): widthOf is not a function; give a function.');
  for (const [name, size] of Object.entries(sizes)) {
    if (!(Number.isFinite(size) && size >= 0))
      throw new SagaValidationError(
        `layoutOf(): ${name} is ${String(size)}; give a number of pixels from 0.`,
      );
  }
  const { steps, routes, layers } = layered(graph, widthOf);
  align(withFewCrossings(layers), columnGap);

  const items = layers.flat();
  const left = items.reduce((least, { x, width }) => Math.min(least, x - width / 2), Infinity);
  const right = items.reduce((most, { x, width }) => Math.max(most, x + width / 2), -Infinity);
  const xOf = (item: Item): number => Math.round(item.x - item.width / 2 - left) + item.width / 2 + margin;
  const yOf = (item: Item): number => margin + item.layer * (height + rowGap);
  return {
    width: items.length === 0 ? 2 * margin : Math.round(right - left) + 2 * margin,
    height: 2 * margin + Math.max(0, layers.length * (height + rowGap) - rowGap),
    nodes: [...steps].map(([name, item]) => ({
      name,
      x: xOf(item) - item.width / 2,
      y: yOf(item),
      width: item.width,
      height,
    })),
    edges: graph.edges.map(({ from, to }, index) => ({
      from,
      to,
      points: routes[index]!.flatMap((item, stop, { length }) => [
        ...(stop === 0 ? [] : [{ x: xOf(item), y: yOf(item) }]),
        ...(stop === length - 1 ? [] : [{ x: xOf(item), y: yOf(item) + height }]),
      ]),
    })),
  };
}

/** Text cannot be measured here: 8 px a character is about a bold character at 14 px. */
function textWidth(name: string): number {
  return Math.min(320, Math.max(96, 32 + 8 * [...name].length));
}

/** Steps by the longest path to them, with an item in every layer that an edge passes. */
function layered(graph: DrawableGraph, widthOf: (name: string) => number) {
  const layerOf = new Map<string, number>();
  for (const { name } of graph.steps) {
    const before = graph.edges.filter((edge) => edge.to === name).map(({ from }) => layerOf.get(from));
    layerOf.set(name, Math.max(-1, ...before.map((layer) => layer ?? -1)) + 1);
  }
  const layers: Item[][] = [];
  const add = (layer: number, width?: number): Item => {
    const row = (layers[layer] ??= []);
    const item: Item = {
      passing: width === undefined,
      layer,
      width: width ?? 0,
      above: [],
      below: [],
      place: row.length,
      x: 0,
    };
    row.push(item);
    return item;
  };
  const steps = new Map(
    graph.steps.map(({ name }) => [name, add(layerOf.get(name)!, Math.ceil(widthOf(name)))]),
  );
  const routes = graph.edges.map(({ from, to }) => {
    const [start, end] = [steps.get(from)!, steps.get(to)!];
    const between = Array.from({ length: end.layer - start.layer - 1 }, (_, passed) =>
      add(start.layer + passed + 1),
    );
    const route = [start, ...between, end];
    route.slice(1).forEach((item, index) => {
      item.above.push(route[index]!);
      route[index]!.below.push(item);
    });
    return route;
  });
  return { steps, routes, layers };
}

/**
 * Sorts each layer by the mean place of its neighbours, down and up in turn, and keeps the best that was seen.
 * Ties are turned around in every third, so that it does not come to rest too early: that leaves little more than half the crossings.
 */
function withFewCrossings(layers: readonly Item[][]): Item[][] {
  let best = layers.map((layer) => [...layer]);
  let fewest = crossingsOf(layers);
  for (let sweep = 0; sweep < CROSSING_SWEEPS && fewest > 0; sweep++) {
    const side = sweep % 2 === 0 ? 'above' : 'below';
    const tie = sweep % 3 === 2 ? -1 : 1;
    for (const layer of side === 'above' ? layers : layers.toReversed()) {
      const wish = new Map(layer.map((item) => [item, mean(item[side], ({ place }) => place) ?? item.place]));
      layer.sort((a, b) => wish.get(a)! - wish.get(b)! || tie * (a.place - b.place));
      layer.forEach((item, place) => (item.place = place));
    }
    const crossings = crossingsOf(layers);
    if (crossings < fewest) {
      best = layers.map((layer) => [...layer]);
      fewest = crossings;
    }
  }
  for (const layer of best) layer.forEach((item, place) => (item.place = place));
  return best;
}

function crossingsOf(layers: readonly Item[][]): number {
  let crossings = 0;
  for (const layer of layers) {
    /** How many edges of the items further left end at each place. */
    const ends: number[] = [];
    for (const item of layer) {
      for (const { place } of item.below) {
        for (let right = place + 1; right < ends.length; right++) crossings += ends[right] ?? 0;
      }
      for (const { place } of item.below) ends[place] = (ends[place] ?? 0) + 1;
    }
  }
  return crossings;
}

/** Moves items towards the middle of their neighbours: down and up in turn, and in the end of both sides. */
function align(layers: readonly Item[][], gap: number): void {
  for (const layer of layers) arrange(layer, Array<number>(layer.length).fill(0), gap);
  for (let sweep = 0; sweep < ALIGNING_SWEEPS; sweep++) {
    const isLate = sweep >= ALIGNING_SWEEPS / 2;
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : layers.toReversed()) {
      const neighbours = ({ above, below }: Item) => (isLate ? [...above, ...below] : down ? above : below);
      arrange(
        layer,
        layer.map((item) => meanX(item, neighbours(item))),
        gap,
      );
    }
  }
}

/**
 * The places nearest to the wishes (weighted least squares) that keep order and distance: with the distances taken
 * out it is isotonic regression, which pooling adjacent violators solves.
 */
function arrange(layer: readonly Item[], wishes: readonly number[], gap: number): void {
  const offsets: number[] = [];
  const pools: { shift: number; weight: number; size: number }[] = [];
  layer.forEach((item, index) => {
    const previous = layer[index - 1];
    const distance = previous ? (previous.width + item.width) / 2 + gap : 0;
    const offset = (offsets[index - 1] ?? 0) + distance;
    offsets.push(offset);
    let pool = { shift: wishes[index]! - offset, weight: item.passing ? STRAIGHTNESS : 1, size: 1 };
    for (let left = pools.at(-1); left && left.shift > pool.shift; left = pools.at(-1)) {
      pools.pop();
      const weight = left.weight + pool.weight;
      const shift = (left.shift * left.weight + pool.shift * pool.weight) / weight;
      pool = { shift, weight, size: left.size + pool.size };
    }
    pools.push(pool);
  });
  const shifts = pools.flatMap(({ shift, size }) => Array<number>(size).fill(shift));
  layer.forEach((item, index) => (item.x = shifts[index]! + offsets[index]!));
}

function meanX(item: Item, neighbours: readonly Item[]): number {
  const straight = item.passing ? neighbours.filter(({ passing }) => passing) : [];
  return mean(straight.length > 0 ? straight : neighbours, ({ x }) => x) ?? item.x;
}

function mean(items: readonly Item[], value: (item: Item) => number): number | undefined {
  return items.length === 0 ? undefined : items.reduce((sum, item) => sum + value(item), 0) / items.length;
}
