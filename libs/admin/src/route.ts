import { applyDecorators, Header, HttpCode, Inject, type Type } from '@nestjs/common';
import { AdminAccess } from './admin-access.js';
import { AdminRuntime } from './admin.runtime.js';
import { dto, field, swagger } from './api-docs.js';
import type { QueryTable } from './read-request.js';

/** Allows no other origin, nothing inline and no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const HEADERS = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** What every answer of the admin carries. */
export function SafeHeaders(): MethodDecorator {
  return applyDecorators(...Object.entries(HEADERS).map(([name, value]) => Header(name, value)));
}

/** What a route is. One with a body is an action. */
export interface RouteDoc {
  readonly summary: string;
  readonly query?: QueryTable;
  readonly params?: Readonly<Record<string, string>>;
  readonly body?: Type;
  readonly answer?: Type | readonly [Type];
  /** Statuses of errors that it may answer with, beside those of guards. */
  readonly errors?: readonly number[];
}

/** The body of every error response. */
const SagaAdminErrorDto = dto<{ statusCode: number; code: string; message: string }>('SagaAdminErrorDto', {
  statusCode: { type: 'number', example: 409, description: 'The HTTP status.' },
  code: field.text('A stable code for programs.', 'SAGA_STATE'),
  message: field.text('What is wrong and how to fix it, for operators.'),
});

const ERRORS: Readonly<Record<number, string>> = {
  400: 'The request is not valid. `code` is SAGA_VALIDATION or SAGA_PAYLOAD.',
  403: 'This operator is not authorized for this action.',
  404: 'The saga does not exist. `code` is SAGA_NOT_FOUND.',
  409: 'The state of the saga does not allow the action, or differs from `expects`. `code` is SAGA_STATE.',
  415: 'Actions accept only application/json.',
  503: 'The database cannot be reached at the moment. `code` is SAGA_UNAVAILABLE.',
};

/** Serves a route, and describes it for OpenAPI if @nestjs/swagger is installed. */
export function Route(doc: RouteDoc): MethodDecorator {
  return applyDecorators(SafeHeaders(), ...(doc.body ? [HttpCode(200)] : []), ...docsOf(doc));
}

function docsOf({
  summary,
  query = {},
  params = {},
  body,
  answer,
  errors = [],
}: RouteDoc): MethodDecorator[] {
  if (!swagger) return [];
  const { ApiOperation, ApiQuery, ApiParam, ApiBody, ApiOkResponse, ApiResponse, ApiHeader } = swagger;
  return [
    ApiOperation({ summary }),
    ...Object.entries(query).map(([name, { doc }]) => ApiQuery({ required: false, ...doc, name } as object)),
    ...Object.entries(params).map(([name, description]) => ApiParam({ name, description })),
    ...(body
      ? [
          ApiBody({ type: body, required: false }),
          ApiHeader({ name: 'x-saga-admin', required: true, example: '1', description: 'Any value.' }),
        ]
      : []),
    answer ? ApiOkResponse({ type: answer as Type }) : ApiOkResponse(),
    ...[...new Set([403, 503, ...errors])].map((status) =>
      ApiResponse({ status, description: ERRORS[status] ?? '', type: SagaAdminErrorDto }),
    ),
  ];
}

/** What controllers of REST routes share. */
@(swagger?.ApiTags('saga admin') ?? (() => undefined))
export abstract class AdminController {
  @Inject(AdminRuntime) protected readonly admin!: AdminRuntime;
  @Inject(AdminAccess) protected readonly access!: AdminAccess;
}
