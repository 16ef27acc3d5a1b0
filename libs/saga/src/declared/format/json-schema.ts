import { SAGA_SHAPE } from './saga-format.js';
import type { Field, Fields, Shape } from './shape.js';

type JsonSchema = Record<string, unknown>;

/** Longer definitions are written once, in `$defs`. */
const LONGEST_INLINE = 150;

/** The JSON Schema of the format, for editors: `declared-saga.schema.json` of this package. */
export function sagaJsonSchema(): JsonSchema {
  return new SchemaWriter().document();
}

class SchemaWriter {
  /** Names of definitions by their text. */
  private readonly names = new Map<string, string>();

  document(): JsonSchema {
    const saga = this.schemaOf(SAGA_SHAPE);
    return {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'A declared saga of nestjs-durable-saga',
      ...saga,
      $defs: Object.fromEntries([...this.names].map(([text, name]) => [name, JSON.parse(text) as unknown])),
    };
  }

  private schemaOf(shape: Shape): JsonSchema {
    switch (shape.type) {
      case 'text':
        return {
          ...{ type: 'string', minLength: 1 },
          ...(shape.pattern !== undefined && { pattern: shape.pattern }),
        };
      case 'whole':
        return { type: 'integer', minimum: shape.least };
      case 'number':
        return { type: 'number' };
      case 'flag':
        return { type: 'boolean' };
      case 'duration':
        return {
          type: ['number', 'string'],
          minimum: 0,
          pattern: '^\\d+(\\.\\d+)?(ms|s|m|h|d)$',
        };
      case 'choice':
        return { enum: [...shape.of] };
      case 'schema':
        return { type: ['object', 'boolean'] };
      case 'expression':
        return { type: ['string', 'boolean', 'number'] };
      case 'text-template':
        return { type: 'string' };
      case 'template':
        return {};
      case 'list':
        return {
          ...{ type: 'array', items: this.schemaOf(shape.of) },
          ...(shape.least && { minItems: shape.least }),
        };
      case 'map':
        return {
          ...{ type: 'object', additionalProperties: this.schemaOf(shape.of) },
          ...(shape.keys !== undefined && { propertyNames: { pattern: shape.keys } }),
        };
      case 'either':
        return { anyOf: shape.of.map((one) => this.schemaOf(one)) };
      case 'object':
        return this.objectOf(shape.fields);
      case 'kinds':
        return { oneOf: Object.entries(shape.kinds).map(([kind, fields]) => this.objectOf(fields, [kind])) };
    }
  }

  private objectOf(fields: Fields, needed: readonly string[] = []): JsonSchema {
    const entries = Object.entries(fields);
    const required = [...needed, ...entries.flatMap(([key, field]) => (field.required ? [key] : []))];
    return {
      type: 'object',
      properties: Object.fromEntries(entries.map(([key, field]) => [key, this.propertyOf(key, field)])),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
    };
  }

  private propertyOf(key: string, field: Field): JsonSchema {
    const schema = { description: field.about, ...this.schemaOf(field) };
    const text = JSON.stringify(schema);
    if (text.length <= LONGEST_INLINE) return schema;
    const taken = new Set(this.names.values());
    let name = this.names.get(text) ?? key;
    for (let n = 2; !this.names.has(text) && taken.has(name); n += 1) name = `${key}-${n}`;
    this.names.set(text, name);
    return { $ref: `#/$defs/${name}` };
  }
}
