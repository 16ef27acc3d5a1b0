import type * as SwaggerPackage from '@nestjs/swagger';
import { applyDecorators, type Type } from '@nestjs/common';
import { withoutUndefined } from '../shared/without-undefined.js';
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

/** What a route is. */
export interface RouteDoc {
  readonly summary: string;
  readonly query?: Readonly<Record<string, FieldDoc>>;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: Type;
  readonly answer?: Type | readonly [Type];
  /** Statuses of errors that it may answer with, beside those of guards. */
  readonly errors?: readonly number[];
}

type Swagger = typeof SwaggerPackage;

/** An optional peer: where it is not installed, nothing is described, and everything else works. */
const swagger = load();

function load(): Swagger | undefined {
  try {
    // In this very moment, since decorators run while classes are being made.
    return requireSwagger() as Swagger;
  } catch {
    return undefined;
  }
}

/** Describes a field of what a route takes or answers. */
export function ApiField(doc: FieldDoc): PropertyDecorator {
  return swagger ? swagger.ApiProperty(withoutUndefined(doc) as object) : () => undefined;
}

/** The fields of what a route takes or answers. A field that may be absent is `optional`. */
export type FieldsOf<T> = {
  readonly [K in keyof T]-?: undefined extends T[K] ? FieldDoc & { readonly required: false } : FieldDoc;
};

/** Makes the class by which OpenAPI knows an object. A field that is not described does not compile. */
export function dto<T>(name: string, fields: FieldsOf<T>): Type {
  const made: Type = class {};
  Object.defineProperty(made, 'name', { value: name });
  for (const [field, doc] of Object.entries<FieldDoc>(fields)) ApiField(doc)(made.prototype as object, field);
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

/** Describes all routes of a controller. */
export function ApiGroup(): ClassDecorator {
  return swagger ? swagger.ApiTags('saga admin') : () => undefined;
}

/** Leaves a controller out: what it serves is for browsers. */
export function ApiHidden(): ClassDecorator {
  return swagger ? swagger.ApiExcludeController() : () => undefined;
}

const ERRORS: Readonly<Record<number, string>> = {
  400: 'The request is not valid. `code` is SAGA_VALIDATION or SAGA_PAYLOAD.',
  403: 'This operator is not authorized for this action.',
  404: 'The saga does not exist. `code` is SAGA_NOT_FOUND.',
  409: 'The state of the saga does not allow the action, or differs from `expects`. `code` is SAGA_STATE.',
  415: 'Actions accept only application/json.',
  503: 'The database cannot be reached at the moment. `code` is SAGA_UNAVAILABLE.',
};

/** Describes a route. @param error what it answers when it fails */
export function ApiRoute(doc: RouteDoc, error: Type): MethodDecorator {
  if (!swagger) return () => undefined;
  const { ApiOperation, ApiQuery, ApiParam, ApiBody, ApiOkResponse, ApiResponse, ApiHeader } = swagger;
  const { summary, query = {}, params = {}, body, answer, errors = [] } = doc;
  return applyDecorators(
    ApiOperation({ summary }),
    ...Object.entries(query).map(([name, field]) => ApiQuery({ required: false, ...field, name } as object)),
    ...Object.entries(params).map(([name, description]) => ApiParam({ name, description })),
    ...(body
      ? [
          ApiBody({ type: body, required: false }),
          ApiHeader({ name: 'x-saga-admin', required: true, example: '1', description: 'Any value.' }),
        ]
      : []),
    answer ? ApiOkResponse({ type: answer as Type }) : ApiOkResponse(),
    ...[...new Set([403, 503, ...errors])].map((status) =>
      ApiResponse({ status, description: ERRORS[status] ?? '', type: error }),
    ),
  );
}
