import { SagaValidationError } from '../../errors.js';
import { drawingOptions } from '../options/drawing-options.js';
import type { SagaDescription, StepDescription } from './saga-description.js';
import { unicodeEscape } from '../../shared/unicode-escape.js';

/** How `mermaidOf()` draws. */
export interface MermaidOptions {
  /** `'TD'`: top down; `'LR'`: left to right. Default `'TD'`. */
  direction?: 'TD' | 'LR';
}

const DEFAULTS: Required<MermaidOptions> = { direction: 'TD' };

/** How the steps of a class stand out. Strokes alone, so that light and dark themes both work. */
const CLASSES: Record<string, { style: string; has: (step: StepDescription) => boolean }> = {
  conditional: { style: 'stroke-dasharray:5 4', has: (step) => step.conditional },
  pivot: { style: 'stroke-width:4px', has: (step) => step.pivot },
};

/** Words of the flowchart grammar, which cannot be ids of nodes; and the word `direction` looks past the line's end. */
const KEYWORDS =
  /^(flowchart|graph|subgraph|end|style|linkstyle|class|classdef|click|call|href|default|interpolate|acctitle|accdescr)$|direction$/i;

/**
 * A saga as a Mermaid flowchart. A cylinder is a savepoint, a trapezoid runs once per item, double bars are a
 * sub-saga, a flag is a remote step, a hexagon waits for a signal or an operator; a dashed border may be skipped, a thick
 * one is the pivot; dotted arrows lead to a step that waits for any one of them. Compensations stand in the label of their step.
 */
export function mermaidOf(saga: SagaDescription, options: MermaidOptions = {}): string {
  const { direction } = drawingOptions('mermaidOf', options, DEFAULTS);
  if (direction !== 'TD' && direction !== 'LR')
    throw new SagaValidationError(`mermaidOf(): direction is '${String(direction)}'; give 'TD' or 'LR'.`);
  const nodes = saga.steps.map((step) => `${idOf(step.name)}${shapeOf(step, labelOf(step))}`);
  const joins = new Map(saga.steps.map((step) => [step.name, waitsForAny(step)]));
  const edges = saga.edges.map(
    ({ from, to }) => `${idOf(from)} ${joins.get(to) ? '-.->' : '-->'} ${idOf(to)}`,
  );
  const classes = Object.entries(CLASSES).flatMap(([name, { style, has }]) => {
    const ids = saga.steps.filter(has).map((step) => idOf(step.name));
    return ids.length === 0 ? [] : [`classDef ${name} ${style}`, `class ${ids.join(',')} ${name}`];
  });
  const lines = [...nodes, ...edges, ...classes].map((line) => `  ${line}\n`).join('');
  return `---\ntitle: ${titleOf(saga)}\n---\nflowchart ${direction}\n${lines}`;
}

function titleOf(saga: SagaDescription): string {
  const deadline = saga.timeout === undefined ? '' : `, within ${durationText(saga.timeout)}`;
  const failure = saga.onFailure === 'suspend' ? ', suspends on failure' : '';
  return yamlString(`${saga.name}@${saga.version}${deadline}${failure}`);
}

function shapeOf(step: StepDescription, label: string): string {
  if (step.kind === 'sub-saga') return `[["${label}"]]`;
  if (step.kind === 'remote') return `>"${label}"]`;
  if (step.kind !== 'step') return `{{"${label}"}}`;
  if (step.forEach) return `[/"${label}"\\]`;
  if (step.savepoint) return `[("${label}")]`;
  return `["${label}"]`;
}

function labelOf(step: StepDescription): string {
  const notes: [boolean, string][] = [
    [step.kind === 'sub-saga', `sub-saga ${escaped(step.child ?? '')}`],
    [step.handler !== undefined, `handler ${escaped(step.handler ? handlerLabel(step.handler) : '')}`],
    [step.kind === 'signal', `waits for ${escaped(step.signal ?? '')}`],
    [step.kind === 'approval', 'waits for approval'],
    [isWait(step) && step.timeout !== undefined, `at most ${durationText(step.timeout ?? 0)}`],
    [waitsForAny(step), 'after any'],
    [Boolean(step.delay), `waits ${durationText(step.delay ?? 0)}`],
    [Boolean(step.delayComputed), 'waits until a computed time'],
    [step.conditional, 'conditional'],
    [step.onFailure === 'continue', 'optional'],
    [step.forEach, `for each item, ${step.itemsAtOnce} at once`],
    [!step.idempotent, 'at most once'],
    [step.savepoint !== undefined, `savepoint, ${step.savepoint?.attempts} attempts`],
    [step.pivot, 'pivot'],
    [step.probe !== undefined, `probe: ${escaped(step.probe ?? '')}`],
    [step.compensation !== undefined, `compensation: ${escaped(step.compensation ?? '')}`],
  ];
  return [escaped(step.name), ...notes.filter(([there]) => there).map(([, note]) => note)].join('<br/>');
}

function isWait({ kind }: StepDescription): boolean {
  return kind === 'signal' || kind === 'approval';
}

function handlerLabel({ name, version }: NonNullable<StepDescription['handler']>): string {
  return version === 1 ? name : `${name}@${version}`;
}

function waitsForAny(step: StepDescription): boolean {
  return step.join === 'any' && step.after.length > 1;
}

/** The name itself if it is plain, so that the text can be read; otherwise one that no other name has. */
function idOf(name: string): string {
  const id = name.replace(/[^A-Za-z0-9]/gu, (character) => `_${character.codePointAt(0)!.toString(16)}_`);
  // What every object has stands in the way of Mermaid's own layout.
  return KEYWORDS.test(id) || id in Object.prototype ? `${id}_` : id;
}

/**
 * Everything but letters, digits and underscores between them as an entity: quotes, tags, comments, Markdown and icons
 * all mean something in a label.
 */
function escaped(text: string): string {
  return text.replace(
    /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|[^\p{L}\p{M}\p{N} _]/gu,
    (character) => `#${character.codePointAt(0)};`,
  );
}

/** A string of YAML, with nothing in it that Mermaid would look at before the YAML is read. */
function yamlString(text: string): string {
  const plain = text.replace(/[^\p{L}\p{M}\p{N} _.,@()+/-]/gu, unicodeEscape);
  return `"${plain}"`;
}

/** `5400000` → `1h 30m`. */
function durationText(milliseconds: number): string {
  let rest = Math.round(milliseconds);
  const parts = Object.entries({ d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 }).map(
    ([unit, length]) => {
      const count = Math.floor(rest / length);
      rest -= count * length;
      return count > 0 ? `${count}${unit}` : '';
    },
  );
  return parts.filter(Boolean).join(' ') || '0ms';
}
