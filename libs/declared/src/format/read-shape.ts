import { readDuration, unknownFlaw } from 'nestjs-durable-saga/internal';
import type { Place } from '../declared-saga.error.js';
import { compileExpression } from '../expression/expression.js';
import { compileTemplate, compileText, type TemplateContext } from '../expression/template.js';
import {
  entryOf,
  type Located,
  type LocatedMap,
  type LocatedScalar,
  plainOf,
  shownKind,
} from '../source/located.js';
import type { Fields, Shape } from './shape.js';

/** The value of a shape. Durations stay as they are written; expressions and templates are compiled. */
export class ShapeReader {
  constructor(private readonly context: TemplateContext) {}

  /** Undefined: the value is invalid, and that was reported. */
  read(node: Located, shape: Shape, what: string): unknown {
    switch (shape.type) {
      case 'object':
        return node.kind === 'map'
          ? this.readFields(node, shape.fields, what)
          : this.refuse(node, what, 'a map');
      case 'kinds':
        return this.readKind(node, shape, what);
      case 'map':
        return this.readMap(node, shape, what);
      case 'list':
        return this.readList(node, shape, what);
      case 'either':
        return this.read(node, shape.of.find((one) => accepts(one, node)) ?? shape.of[0], what);
      case 'template':
        return compileTemplate(node, shape.scope, this.context);
      case 'schema':
        return node.kind === 'map' || typeof plainOf(node) === 'boolean'
          ? plainOf(node)
          : this.refuse(node, what, 'a JSON Schema');
      default:
        return this.readScalar(node, shape, what);
    }
  }

  private readFields(node: LocatedMap, fields: Fields, what: string): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    for (const { key, at, value: given } of node.entries) {
      if (Object.hasOwn(fields, key)) value[key] = this.read(given, fields[key]!, key);
      else this.reportUnknown(key, at, Object.keys(fields), what);
    }
    for (const [key, { required }] of Object.entries(fields)) {
      if (required && !entryOf(node, key))
        this.context.report(node.at, `${what} has no '${key}'`, `add '${key}'`);
    }
    return value;
  }

  private readKind(node: Located, shape: Extract<Shape, { type: 'kinds' }>, what: string): unknown {
    const kinds = Object.keys(shape.kinds);
    if (node.kind !== 'map') return this.refuse(node, what, `a map with one of ${kinds.join(', ')}`);
    const [kind, second] = node.entries.filter(({ key }) => kinds.includes(key));
    if (second)
      this.context.report(
        second.at,
        `${what} has both '${kind!.key}' and '${second.key}'`,
        `${shape.what} has one of ${kinds.join(', ')}; write two steps`,
      );
    if (kind) return second ? undefined : this.readFields(node, shape.kinds[kind.key]!, what);
    // Another key may be a typing error of the one that decides.
    const known = [...new Set(Object.values(shape.kinds).flatMap(Object.keys))];
    const unknown = node.entries.find(({ key }) => !known.includes(key));
    if (unknown) this.reportUnknown(unknown.key, unknown.at, known, what);
    else this.context.report(node.at, `${what} does nothing`, `add one of ${kinds.join(', ')}`);
    return undefined;
  }

  private reportUnknown(key: string, at: Place, known: readonly string[], what: string): void {
    const { problem, fix } = unknownFlaw(key, known);
    const named = `${what} has the ${problem.replace('option', 'key')}`;
    this.context.report(at, named, fix.replace('options', 'keys'));
  }

  private readMap(node: Located, shape: Extract<Shape, { type: 'map' }>, what: string): unknown {
    if (node.kind !== 'map') return this.refuse(node, what, 'a map');
    const pattern = shape.keys === undefined ? undefined : new RegExp(shape.keys);
    return new Map(
      node.entries.map(({ key, at, value }) => {
        if (pattern && !pattern.test(key))
          this.context.report(
            at,
            `${what} has the invalid name '${key.slice(0, 60)}'`,
            `names match ${shape.keys}`,
          );
        return [key, this.read(value, shape.of, `${what}.${key}`)];
      }),
    );
  }

  private readList(
    node: Located,
    { of, least = 0 }: Extract<Shape, { type: 'list' }>,
    what: string,
  ): unknown {
    if (node.kind !== 'list') return this.refuse(node, what, 'a list');
    if (node.items.length < least)
      this.context.report(node.at, `${what} is an empty list`, 'add an item, or remove the key');
    return node.items.map((item, n) => this.read(item, of, `${what}[${n}]`));
  }

  private readScalar(node: Located, shape: ScalarShape, what: string): unknown {
    const [expected, fits] = SCALARS[shape.type](shape as never);
    if (node.kind !== 'scalar' || !fits(node.value)) return this.refuse(node, what, expected);
    const { value, at } = node;
    switch (shape.type) {
      case 'duration': {
        const read = readDuration(value, what);
        if (typeof read === 'number') return value;
        this.context.report(at, read.problem, read.fix);
        return undefined;
      }
      case 'text-template':
        return compileText(value as string, at, shape.scope, this.context);
      case 'expression': {
        const { report } = this.context;
        if (typeof value !== 'string')
          return compileExpression(String(value), at, shape.scope, () => undefined);
        if (/^\s*\{\{/.test(value)) return this.refuse(node, what, 'the expression without {{ }}');
        return compileExpression(value, at, shape.scope, (...found) => report(at, ...found));
      }
      default:
        return value;
    }
  }

  private refuse(node: Located, what: string, expected: string): undefined {
    this.context.report(node.at, `${what} is ${shownKind(node)}`, `give ${expected}`);
  }
}

type NotScalar = 'object' | 'kinds' | 'map' | 'list' | 'either' | 'template' | 'schema';
type ScalarShape = Exclude<Shape, { type: NotScalar }>;

type Value = LocatedScalar['value'];

/** What a scalar has to be, in the words of messages, and whether it is that. */
const SCALARS: {
  readonly [Type in ScalarShape['type']]: (
    shape: Extract<ScalarShape, { type: Type }>,
  ) => readonly [expected: string, fits: (value: Value) => boolean];
} = {
  flag: () => ['true or false', (value) => typeof value === 'boolean'],
  number: () => ['a number', (value) => typeof value === 'number'],
  whole: ({ least }) => [
    `a whole number from ${least}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least,
  ],
  choice: ({ of }) => [`one of ${of.join(', ')}`, (value) => of.includes(value as string)],
  text: ({ pattern, example }) => [
    `a ${pattern === undefined ? 'text' : 'name'} such as '${example}'`,
    (value) => typeof value === 'string' && value !== '' && new RegExp(pattern ?? '').test(value),
  ],
  duration: () => ["a duration such as '10s'", () => true],
  expression: () => ['a JSONata expression', (value) => value !== null],
  'text-template': () => ['a text', (value) => typeof value === 'string'],
};

/** Whether a shape is for this kind of value: which of several is meant. */
function accepts(shape: Shape, node: Located): boolean {
  if (shape.type === 'list') return node.kind === 'list';
  if (shape.type === 'object' || shape.type === 'map' || shape.type === 'kinds') return node.kind === 'map';
  if (node.kind !== 'scalar') return false;
  if (shape.type === 'flag') return typeof node.value === 'boolean';
  if (shape.type === 'duration') return typeof node.value !== 'boolean';
  return true;
}
