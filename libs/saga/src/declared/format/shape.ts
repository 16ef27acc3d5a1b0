import type { AnyTable, ValueShape } from '../../definition/options/option-reader.js';
import type { Scope } from '../expression/scope.js';

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
