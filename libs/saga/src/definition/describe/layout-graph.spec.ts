import fc from 'fast-check';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import {
  type DrawableGraph,
  type EdgeLine,
  type GraphLayout,
  layoutOf,
  type NodeBox,
} from './layout-graph.js';

/** Edges as `a>b`; steps in the order in which they are given. */
function graph(steps: string, ...edges: string[]): DrawableGraph {
  return {
    steps: steps.split(' ').map((name) => ({ name })),
    edges: edges.map((edge) => ({ from: edge.split('>')[0]!, to: edge.split('>')[1]! })),
  };
}

const dags: fc.Arbitrary<DrawableGraph> = fc
  .array(
    fc.record({
      name: fc.oneof(fc.string({ minLength: 1 }), fc.string({ minLength: 20, maxLength: 60 })),
      after: fc.array(fc.nat(), { maxLength: 4 }),
    }),
    { minLength: 1, maxLength: 25 },
  )
  .map((parts) => {
    const names = parts.map(({ name }, index) => `${index}${name}`);
    return {
      steps: names.map((name) => ({ name })),
      edges: parts.flatMap(({ after }, index) =>
        index === 0
          ? []
          : [...new Set(after.map((pick) => names[pick % index]!))].map((from) => ({
              from,
              to: names[index]!,
            })),
      ),
    };
  });

function centre(box: NodeBox): number {
  return box.x + box.width / 2;
}

function boxes(layout: GraphLayout): Record<string, NodeBox> {
  return Object.fromEntries(layout.nodes.map((node) => [node.name, node]));
}

function segmentsOf({ points }: EdgeLine) {
  return points.slice(1).map((end, index) => ({ start: points[index]!, end }));
}

/** Counts crossings of straight edges. Every edge of the drawing must lead from one layer to the next. */
function crossings({ edges }: GraphLayout): number {
  const ends = edges.map(({ points }) => ({ start: points[0]!, end: points.at(-1)! }));
  return ends.flatMap((a, index) =>
    ends
      .slice(0, index)
      .filter((b) => a.start.y === b.start.y && (a.start.x - b.start.x) * (a.end.x - b.end.x) < 0),
  ).length;
}

describe('the layout of any graph', () => {
  it('has every step and edge, in their order', () => {
    fc.assert(
      fc.property(dags, (dag) => {
        const { nodes, edges } = layoutOf(dag);
        expect(nodes.map(({ name }) => name)).toEqual(dag.steps.map(({ name }) => name));
        expect(edges.map(({ from, to }) => ({ from, to }))).toEqual(dag.edges);
      }),
      fuzz(30),
    );
  });

  it('lets no two boxes overlap or touch', () => {
    fc.assert(
      fc.property(dags, fc.nat(40), (dag, columnGap) => {
        const { nodes } = layoutOf(dag, { columnGap: columnGap + 1 });
        nodes.forEach((a, index) => {
          for (const b of nodes.slice(0, index)) {
            const apart =
              a.x > b.x + b.width || b.x > a.x + a.width || a.y > b.y + b.height || b.y > a.y + a.height;
            expect(apart).toBe(true);
          }
        });
      }),
      fuzz(30),
    );
  });

  it('leads every edge downwards, from the box that it leaves to the one that waits', () => {
    fc.assert(
      fc.property(dags, (dag) => {
        const layout = layoutOf(dag);
        for (const edge of layout.edges) {
          const [from, to] = [edge.from, edge.to].map((name) =>
            layout.nodes.find((node) => node.name === name)!,
          );
          expect(edge.points[0]).toEqual({ x: centre(from!), y: from!.y + from!.height });
          expect(edge.points.at(-1)).toEqual({ x: centre(to!), y: to!.y });
          for (const { start, end } of segmentsOf(edge)) expect(end.y).toBeGreaterThan(start.y);
        }
      }),
      fuzz(30),
    );
  });

  it('leads no edge through a box', () => {
    fc.assert(
      fc.property(dags, (dag) => {
        const { nodes, edges } = layoutOf(dag);
        for (const { start, end } of edges.flatMap(segmentsOf)) {
          for (const box of nodes.filter(({ y, height }) => y < end.y && start.y < y + height)) {
            // Beside a box an edge is upright.
            expect(start.x).toBe(end.x);
            expect(start.x < box.x || start.x > box.x + box.width).toBe(true);
          }
        }
      }),
      fuzz(30),
    );
  });

  it('has everything within its bounds, with the margin around it', () => {
    fc.assert(
      fc.property(dags, fc.nat(30), (dag, margin) => {
        const { nodes, edges, width, height } = layoutOf(dag, { margin });
        const xs = nodes.flatMap((node) => [node.x, node.x + node.width]);
        const ys = nodes.flatMap((node) => [node.y, node.y + node.height]);
        for (const { points } of edges) xs.push(...points.map(({ x }) => x));
        expect(Math.min(...xs)).toBe(margin);
        expect(Math.max(...xs)).toBe(width - margin);
        expect([Math.min(...ys), Math.max(...ys)]).toEqual([margin, height - margin]);
      }),
      fuzz(30),
    );
  });

  it('is the same each time', () => {
    fc.assert(
      fc.property(dags, (dag) => expect(layoutOf(dag)).toEqual(layoutOf(dag))),
      fuzz(30),
    );
  });
});

describe('a layout', () => {
  it('of a sequence is one straight column', () => {
    const { nodes, edges } = layoutOf(graph('a muchLongerName c', 'a>muchLongerName', 'muchLongerName>c'));
    expect(new Set(nodes.map(centre)).size).toBe(1);
    expect(new Set(edges.flatMap(({ points }) => points.map(({ x }) => x))).size).toBe(1);
  });

  it('of a fork and a join is symmetrical', () => {
    const { a, left, right, join } = boxes(
      layoutOf(graph('a left right join', 'a>left', 'a>right', 'left>join', 'right>join')),
    );
    expect(centre(a!)).toBe(centre(join!));
    expect(centre(left!) + centre(right!)).toBe(2 * centre(a!));
    expect(left!.y).toBe(right!.y);
  });

  it('puts what may run at the same time beside each other', () => {
    const { a, b, c, d } = boxes(layoutOf(graph('a b c d', 'a>c', 'b>c', 'a>d')));
    expect(a!.y).toBe(b!.y);
    expect(c!.y).toBe(d!.y);
  });

  it('uncrosses what can be uncrossed', () => {
    expect(crossings(layoutOf(graph('a b c x y z', 'a>z', 'b>y', 'c>x')))).toBe(0);
    expect(crossings(layoutOf(graph('a b p q r s', 'a>q', 'a>s', 'b>p', 'b>r')))).toBe(0);
    expect(crossings(layoutOf(graph('a b x y', 'a>x', 'a>y', 'b>x', 'b>y')))).toBe(1);
  });

  it('leads an edge past the layers in between', () => {
    const { edges, nodes } = layoutOf(graph('a b c', 'a>b', 'b>c', 'a>c'));
    const [, b] = nodes;
    const [, , past] = edges;
    expect(past!.points).toHaveLength(4);
    expect(past!.points.slice(1, 3).map(({ y }) => y)).toEqual([b!.y, b!.y + b!.height]);
  });

  it('takes the sizes that it is given', () => {
    const [a, b] = layoutOf(graph('a b', 'a>b'), {
      widthOf: () => 70,
      height: 20,
      rowGap: 10,
      margin: 5,
    }).nodes;
    expect([a, b]).toEqual([
      { name: 'a', x: 5, y: 5, width: 70, height: 20 },
      { name: 'b', x: 5, y: 35, width: 70, height: 20 },
    ]);
  });

  it('lets steps have the names that every object has', () => {
    const { nodes } = layoutOf(graph('constructor __proto__', 'constructor>__proto__'));
    expect(nodes.map(({ name }) => name)).toEqual(['constructor', '__proto__']);
  });

  it('of nothing is the margin', () => {
    expect(layoutOf({ steps: [], edges: [] })).toEqual({ width: 32, height: 32, nodes: [], edges: [] });
  });

  it('of a thousand steps takes at most a few seconds', () => {
    const steps = Array.from({ length: 1000 }, (_, index) => ({ name: `s${index}` }));
    const edges = steps.flatMap((step, index) =>
      [1, 3, 17].filter((back) => back <= index).map((back) => ({ from: `s${index - back}`, to: step.name })),
    );
    expect(layoutOf({ steps, edges }).nodes).toHaveLength(1000);
  }, 20_000);
});
