import type { Duration } from 'nestjs-durable-saga';
import type { AnyTable, ValueShape } from 'nestjs-durable-saga/internal';
import type { Expression } from '../expression/expression.js';
import type { Scope } from '../expression/scope.js';
import type { Template, TextTemplate } from '../expression/template.js';

/**
 * The format of a declared saga as data. One reader (`read-shape.ts`) reads every file by it, and the published JSON
 * Schema is generated from it (`npm run generate`), so that the two cannot differ.
 */
export type Shape =
  | ValueShape
  | { readonly type: 'text'; readonly pattern?: string; readonly example: string }
  /** A JSON Schema. */
  | { readonly type: 'schema' }
  /** A JSONata expression without braces. */
  | { readonly type: 'expression'; readonly scope: Scope }
  /** Any value, in whose texts `{{ … }}` are expressions. */
  | { readonly type: 'template'; readonly scope: Scope }
  /** A text in which `{{ … }}` are expressions. */
  | { readonly type: 'text-template'; readonly scope: Scope }
  | { readonly type: 'list'; readonly of: Shape; readonly least: number }
  /** Keys of the user. */
  | { readonly type: 'map'; readonly of: Shape; readonly keys: string }
  | { readonly type: 'object'; readonly fields: Fields }
  /** The first whose kind of value fits. */
  | { readonly type: 'either'; readonly of: readonly [Shape, ...Shape[]] }
  /** A map that has exactly one of these keys, which decides about its other keys. */
  | { readonly type: 'kinds'; readonly what: string; readonly kinds: Readonly<Record<string, Fields>> };

export type Field = Shape & {
  readonly required?: true;
  /** A sentence for editors, in the JSON Schema. */
  readonly about: string;
};

export type Fields = Readonly<Record<string, Field>>;

export const FLAG = { type: 'flag' } as const;
export const DURATION = { type: 'duration' } as const;
export const SCHEMA = { type: 'schema' } as const;
export const COUNT = { type: 'whole', least: 1 } as const;

export function textLike(example: string, pattern?: string) {
  return { type: 'text', example, ...(pattern !== undefined && { pattern }) } as const;
}

export function choice<const Of extends readonly string[]>(...of: Of) {
  return { type: 'choice', of } as const;
}

export function expression(scope: Scope) {
  return { type: 'expression', scope } as const;
}

export function template(scope: Scope) {
  return { type: 'template', scope } as const;
}

export function textTemplate(scope: Scope) {
  return { type: 'text-template', scope } as const;
}

export function listOf<Of extends Shape>(of: Of, least = 0) {
  return { type: 'list', of, least } as const;
}

export function mapOf<Of extends Shape>(of: Of, keys: string) {
  return { type: 'map', of, keys } as const;
}

export function eitherOf<const Of extends readonly [Shape, ...Shape[]]>(...of: Of) {
  return { type: 'either', of } as const;
}

export function objectOf<Of extends Fields>(fields: Of) {
  return { type: 'object', fields } as const;
}

/** A key that may be left out. */
export function optionalKey<S extends Shape>(shape: S, about: string) {
  return { ...shape, about };
}

export function requiredKey<S extends Shape>(shape: S, about: string) {
  return { ...shape, about, required: true as const };
}

/** What the reader makes of a scalar, of an expression and of a template. */
interface Read {
  readonly text: string;
  readonly whole: number;
  readonly number: number;
  readonly flag: boolean;
  readonly duration: Duration;
  readonly schema: object | boolean;
  readonly expression: Expression;
  readonly template: Template;
  readonly 'text-template': TextTemplate;
}

/** What the reader makes of a shape. */
export type ReadOf<S> = S extends { readonly type: infer Type extends keyof Read }
  ? Read[Type]
  : S extends { readonly type: 'choice'; readonly of: readonly (infer Choice)[] }
    ? Choice
    : S extends { readonly type: 'list'; readonly of: infer Item }
      ? readonly ReadOf<Item>[]
      : S extends { readonly type: 'map'; readonly of: infer Value }
        ? ReadonlyMap<string, ReadOf<Value>>
        : S extends { readonly type: 'either'; readonly of: readonly (infer One)[] }
          ? ReadOf<One>
          : S extends { readonly type: 'object'; readonly fields: infer Of }
            ? FieldsRead<Of>
            : never;

type FieldsRead<Of> = {
  readonly [K in keyof Of as Of[K] extends { readonly required: true } ? K : never]: ReadOf<Of[K]>;
} & {
  readonly [K in keyof Of as Of[K] extends { readonly required: true } ? never : K]?: ReadOf<Of[K]>;
};

/**
 * Returns the options of a table as fields of files. Each option has a sentence, or a field of its own if files have
 * another kind of value for it. `false`: files cannot have the option.
 */
export function fieldsOf<Table extends AnyTable>(
  table: Table,
  options: { readonly [K in keyof Table]: string | Field | false },
): Fields {
  const fields: Record<string, Field> = {};
  for (const [name, about] of Object.entries<string | Field | false>(options)) {
    const { shape, required } = table[name]!;
    if (typeof about === 'object') fields[name] = about;
    else if (about !== false) fields[name] = { ...shape!, ...(required && { required }), about };
  }
  return fields;
}
