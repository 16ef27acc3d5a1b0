import { ApiField, ApiRoute, type RouteDoc } from '../api-docs.js';

/** What every refusal looks like. */
export class SagaAdminErrorDto {
  @ApiField({ example: 409, description: 'The HTTP status.' })
  statusCode!: number;
  @ApiField({ example: 'SAGA_STATE', description: 'Stable; for programs.' })
  code!: string;
  @ApiField({ description: 'What is wrong, and the mend; for people.' })
  message!: string;
}

/** Describes a route for OpenAPI, where @nestjs/swagger is installed. */
export function Route(doc: RouteDoc): MethodDecorator {
  return ApiRoute(doc, SagaAdminErrorDto);
}
