import type { Scope } from '../expression/scope.js';

/**
 * The format of a declared saga as data. One reader (`read-shape.ts`) reads every file by it, and the published JSON
 * Schema is generated from it (`json-schema.ts`), so that the two cannot differ.
 */
export type Shape =
  | { readonly type: 'text'; readonly pattern?: string; readonly example: string }
  | { readonly type: 'whole'; readonly least: number }
  | { readonly type: 'number' }
  | { readonly type: 'flag' }
  | { readonly type: 'duration' }
  /** A JSON Schema. */
  | { readonly type: 'schema' }
  | { readonly type: 'choice'; readonly of: readonly string[] }
  /** A JSONata expression without braces. */
  | { readonly type: 'expression'; readonly scope: Scope }
  /** Any value, in whose texts `{{ … }}` are expressions. */
  | { readonly type: 'template'; readonly scope: Scope }
  /** A text in which `{{ … }}` are expressions. */
  | { readonly type: 'text-template'; readonly scope: Scope }
  | { readonly type: 'list'; readonly of: Shape; readonly least?: number }
  /** Keys of the user. */
  | { readonly type: 'map'; readonly of: Shape; readonly keys?: string }
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
