import fc from 'fast-check';
import { anyText } from '../../../../../test/fixtures/any-text.js';
import { graphOf, sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { mermaidOf } from './mermaid-of-graph.js';
import { descriptionOf } from './saga-description.js';
import type { SagaGraph } from '../graph/saga-graph.js';

const plain = { compensate: undefined };

function linesOf(graph: SagaGraph): string[] {
  return mermaidOf(descriptionOf(graph)).trim().split('\n');
}

/** The one line of a graph of one step that declares it. */
function nodeLine(...[name, options]: Parameters<typeof stepOf>): string {
  return linesOf(graphOf(stepOf(name, { ...plain, ...options })))[4]!.trim();
}

/** Names as a definition accepts them, with all that Mermaid could take for its own. */
const names = fc
  .oneof(
    fc.constantFrom(
      'end',
      'graph',
      'style',
      'click',
      'constructor',
      '__proto__',
      'o',
      'x',
      'v',
      'a_b',
      'Ünï',
    ),
    fc.string({ unit: fc.constantFrom(...'ab_"`\'#;<>&%{}()|/\\-=.*!@$^?+,é漢😀') }),
    anyText(),
  )
  .filter((name) => name.length > 0 && !/[\s:~[\]\p{Cc}\p{Cs}]/u.test(name));

describe('the Mermaid text of a saga', () => {
  it('has a line for each step with its compensation, and one for each edge', () => {
    const graph = graphOf(
      stepOf('reserve', { compensate: 'release' }),
      stepOf('pack', { ...plain, after: ['reserve'] }),
      stepOf('charge', { compensate: 'refund', after: ['reserve'] }),
      stepOf('ship', { ...plain, after: ['pack', 'charge'] }),
    );
    expect(mermaidOf(descriptionOf({ ...graph, name: 'place-order', version: 3 }))).toBe(
      `---
title: "place-order@3"
---
flowchart TD
  reserve["reserve<br/>compensation: release"]
  pack["pack"]
  charge["charge<br/>compensation: refund"]
  ship["ship"]
  reserve --> pack
  reserve --> charge
  pack --> ship
  charge --> ship
`,
    );
  });

  it('may run from left to right', () => {
    expect(mermaidOf(descriptionOf(sequenceOf(stepOf('a'))), { direction: 'LR' })).toContain(
      'flowchart LR\n',
    );
  });

  it("has the saga's deadline and what a failure does in its title", () => {
    const graph = sequenceOf(stepOf('a'));
    expect(linesOf({ ...graph, timeout: 5_400_000 })[1]).toBe('title: "test@1, within 1h 30m"');
    expect(linesOf({ ...graph, onFailure: 'suspend' })[1]).toBe('title: "test@1, suspends on failure"');
  });

  it.each<[string, Parameters<typeof stepOf>[1], string]>([
    ['a plain step', {}, 'a["a"]'],
    ['a savepoint', { savepoint: { attempts: 3 } }, 'a[("a<br/>savepoint, 3 attempts")]'],
    ['a fan-out', { forEach: () => [], itemsAtOnce: 4 }, 'a[/"a<br/>for each item, 4 at once"\\]'],
    ['a delay', { delay: 90_061_001 }, 'a["a<br/>waits 1d 1h 1m 1s 1ms"]'],
    ['no delay', { delay: 0 }, 'a["a"]'],
    ['a probe', { probe: 'ask' }, 'a["a<br/>probe: ask"]'],
    ['at most once', { idempotent: false }, 'a["a<br/>at most once"]'],
    ['a condition', { when: () => true }, 'a["a<br/>conditional"]'],
    ['a pivot', { pivot: true }, 'a["a<br/>pivot"]'],
    [
      'everything',
      { savepoint: { attempts: 2 }, pivot: true, when: () => true, compensate: 'b' },
      'a[("a<br/>conditional<br/>savepoint, 2 attempts<br/>pivot<br/>compensation: b")]',
    ],
  ])('shows %s', (_, options, line) => {
    expect(nodeLine('a', options)).toBe(line);
  });

  it('shows a sub-saga with the name of the saga', () => {
    const { steps, ...saga } = descriptionOf(graphOf(stepOf('ship', plain)));
    const text = mermaidOf({ ...saga, steps: [{ ...steps[0]!, kind: 'sub-saga', child: 'shipment' }] });
    expect(text).toContain('ship[["ship<br/>sub-saga shipment"]]');
  });

  it('gives conditional steps and pivots a border of their own', () => {
    const lines = linesOf(
      sequenceOf(
        stepOf('a', { when: () => true }),
        stepOf('b', { when: () => true, pivot: true }),
        stepOf('c', plain),
      ),
    );
    expect(lines).toContain('  class a,b conditional');
    expect(lines).toContain('  class b pivot');
    expect(lines.join()).not.toMatch(/class [^ ]*c /);
  });

  it('dots the edges of which any one is enough', () => {
    const lines = linesOf(
      graphOf(
        stepOf('a'),
        stepOf('b'),
        stepOf('c', { ...plain, after: ['a', 'b'], join: 'any' }),
        stepOf('d', { ...plain, after: ['c'], join: 'any' }),
      ),
    );
    expect(lines).toEqual(
      expect.arrayContaining(['  c["c<br/>after any"]', '  a -.-> c', '  b -.-> c', '  d["d"]', '  c --> d']),
    );
  });

  it.each([
    ['keywords', 'end', 'end_["end"]'],
    ['a word that Mermaid reads on from', 'setDirection', 'setDirection_["setDirection"]'],
    ['what every object has', 'constructor', 'constructor_["constructor"]'],
    ['quotes and tags', '"<b>', '_22__3c_b_3e_["#34;#60;b#62;"]'],
    ['entities and comments', '%%#amp;', '_25__25__23_amp_3b_["#37;#37;#35;amp#59;"]'],
    ['Markdown', '`_a_`', '_60__5f_a_5f__60_["#96;#95;a#95;#96;"]'],
    ['underscores between letters, which are harmless', 'a_b', 'a_5f_b["a_b"]'],
    ['other alphabets', 'größe漢', 'gr_f6__df_e_6f22_["größe漢"]'],
    ['characters of two code units', '😀', '_1f600_["#128512;"]'],
  ])('lets names have %s', (_, name, line) => {
    expect(nodeLine(name)).toBe(line);
  });

  it('lets compensations, probes and the saga have any name', () => {
    const step = stepOf('a', { compensate: 'undo "a": [x]', probe: 'b\nc' });
    const [, title, , , node, ...more] = linesOf({ ...sequenceOf(step), name: '"a": %%{x}%% \\ <b> #1;' });
    expect(title).toBe(
      'title: "\\u0022a\\u0022\\u003a \\u0025\\u0025\\u007bx\\u007d\\u0025\\u0025 \\u005c \\u003cb\\u003e \\u00231\\u003b@1"',
    );
    expect(JSON.parse(title!.slice('title: '.length))).toBe('"a": %%{x}%% \\ <b> #1;@1');
    expect(node).toBe('  a["a<br/>probe: b#10;c<br/>compensation: undo #34;a#34;#58; #91;x#93;"]');
    expect(more).toEqual([]);
  });

  it('keeps steps apart and lines in their form, whatever the names are', () => {
    fc.assert(
      fc.property(fc.uniqueArray(names, { minLength: 1, maxLength: 8 }), (unique) => {
        const lines = linesOf(sequenceOf(...unique.map((name) => stepOf(name, { compensate: name })))).slice(
          4,
        );
        const nodes = lines
          .slice(0, unique.length)
          .map((line) => /^ {2}(\w+)\["([^"<>]+)<br\/>compensation: ([^"<>]+)"\]$/.exec(line));
        const ids = nodes.map((node) => node?.[1]);
        expect(ids).not.toContain(undefined);
        expect(new Set(ids).size).toBe(unique.length);
        expect(nodes.map((node) => decoded(node![2]!))).toEqual(unique);
        expect(lines.slice(unique.length)).toEqual(
          ids.slice(1).map((id, index) => `  ${ids[index]} --> ${id}`),
        );
      }),
    );
  });
});

/** What Mermaid shows for a label. */
function decoded(label: string): string {
  return label.replace(/#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
}
