import { ApiField } from '../api-docs.js';

/** A saga to start. */
export class StartDto {
  @ApiField({
    example: 'place-order',
    description: 'The name of the saga, which starts in its highest version.',
  })
  saga!: string;
  @ApiField({ required: false, type: 'object', description: 'The input. It is validated as the saga says.' })
  input?: unknown;
  @ApiField({ required: false, format: 'uuid', description: 'The id of the saga. Default: a new UUIDv7.' })
  id?: string;
  @ApiField({
    required: false,
    description: 'The correlation id, unique per saga name, such as the number of an order. Default: the id.',
  })
  correlationId?: string;
  @ApiField({ required: false, type: 'integer', minimum: 0, maximum: 100, default: 0 }) priority?: number;
  @ApiField({
    required: false,
    example: '10s',
    description: 'The delay before the saga begins. Default: none.',
  })
  delay?: string;
  @ApiField({
    required: false,
    format: 'date-time',
    description: 'The time at which the saga begins. It excludes `delay`.',
  })
  startAt?: string;
  @ApiField({ required: false, type: 'object', additionalProperties: { type: 'string' } })
  tags?: Record<string, string>;
}

export class StartAnswerDto {
  @ApiField({ format: 'uuid', description: 'The id of the saga.' }) id!: string;
  @ApiField({ description: 'false: the saga already existed, and was started with the same input.' })
  created!: boolean;
}
