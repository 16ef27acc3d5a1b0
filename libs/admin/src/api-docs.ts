import type * as SwaggerPackage from '@nestjs/swagger';
import type { Type } from '@nestjs/common';
import { withoutUndefined } from 'nestjs-durable-saga/internal';
import { requireSwagger } from './from-this-folder.cjs';

/** The description of a field or a parameter for @nestjs/swagger. */
export interface FieldDoc {
  readonly description?: string;
  readonly example?: unknown;
  readonly enum?: readonly string[];
  readonly type?: Type | readonly [Type] | 'object' | 'number' | 'string' | 'boolean' | 'integer';
  readonly isArray?: boolean;
  readonly required?: boolean;
  readonly nullable?: boolean;
  readonly format?: string;
  readonly maximum?: number;
  readonly minimum?: number;
  readonly default?: unknown;
  readonly additionalProperties?: boolean | object;
}

type Swagger = typeof SwaggerPackage;

/** An optional peer: where it is not installed, nothing is described, and everything else works. */
export const swagger = load();

function load(): Swagger | undefined {
  try {
    // In this very moment, since decorators run while classes are being made.
    return requireSwagger() as Swagger;
  } catch {
    return undefined;
  }
}

/** The fields of what a route takes or answers. A field that may be absent is `optional`. */
export type FieldsOf<T> = {
  readonly [K in keyof T]-?: undefined extends T[K] ? FieldDoc & { readonly required: false } : FieldDoc;
};

/** Makes the class by which OpenAPI knows an object. A field that is not described does not compile. */
export function dto<T>(name: string, fields: FieldsOf<T>): Type {
  const made: Type = class {};
  Object.defineProperty(made, 'name', { value: name });
  for (const [name, doc] of Object.entries<FieldDoc>(fields))
    swagger?.ApiProperty(withoutUndefined(doc) as object)(made.prototype as object, name);
  return made;
}

const record = (description?: string, values: FieldDoc['additionalProperties'] = true): FieldDoc => ({
  ...{ type: 'object', additionalProperties: values, description },
});

/** The kinds of fields. */
export const field = {
  text: (description?: string, example?: string): FieldDoc => ({ type: 'string', description, example }),
  texts: (description?: string): FieldDoc => ({ type: 'string', isArray: true, description }),
  time: (description?: string): FieldDoc => ({ type: 'string', format: 'date-time', description }),
  uuid: (description?: string): FieldDoc => ({ type: 'string', format: 'uuid', description }),
  flag: (description?: string): FieldDoc => ({ type: 'boolean', description }),
  whole: (description?: string): FieldDoc => ({ type: 'integer', description }),
  number: (description?: string): FieldDoc => ({ type: 'number', description }),
  oneOf: (values: readonly string[], description?: string): FieldDoc => ({ enum: values, description }),
  /** A value that is described only in words. */
  object: (description?: string): FieldDoc => ({ type: 'object', description }),
  objects: (description?: string): FieldDoc => ({ type: 'object', isArray: true, description }),
  /** An object that may have any field. */
  record,
  tags: (): FieldDoc => record(undefined, { type: 'string' }),
  one: (type: Type, description?: string): FieldDoc => ({ type, description }),
  list: (type: Type, description?: string): FieldDoc => ({ type: [type], description }),
  optional: (doc: FieldDoc) => ({ ...doc, required: false as const }),
};
