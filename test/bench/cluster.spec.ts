import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compact, growthSections, simulatedClusterRate, withFigures } from './bench.js';

const COSTS = { leader: 10_000, copy: 10_000, node: 20_000 };
const rateOf = (load: { nodes: number; processors: number; onOneMachine?: boolean }) =>
  Math.round(simulatedClusterRate(load, COSTS));

describe('the simulation of a cluster', () => {
  test('one node is as fast as its processors, and several store each call twice', () => {
    expect(rateOf({ nodes: 1, processors: 2 })).toBeCloseTo(200, -1);
    expect(rateOf({ nodes: 3, processors: 2 })).toBeCloseTo(300, -1);
  });

  test('twice the nodes carry twice the load, and twice the processors as well', () => {
    const three = rateOf({ nodes: 3, processors: 2 });
    expect(rateOf({ nodes: 6, processors: 2 }) / three).toBeCloseTo(2, 1);
    expect(rateOf({ nodes: 3, processors: 4 }) / three).toBeCloseTo(2, 1);
  });

  test('on one machine all nodes, and Node, share the processors', () => {
    expect(rateOf({ nodes: 3, processors: 2, onOneMachine: true })).toBeCloseTo(50, -1);
  });

  test('the page shows what its figures give', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/restate.md'), 'utf8');
    const sections = growthSections(page);
    expect(page).toContain('<!-- figures:growth -->');
    expect(compact(withFigures(page, sections))).toBe(compact(page));
  });
});
