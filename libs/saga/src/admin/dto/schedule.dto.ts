import { ApiField } from '../api-docs.js';

export class ScheduleDto {
  @ApiField({ description: 'The name of the saga that it starts.' }) saga!: string;
  @ApiField({ example: '0 2 * * *' }) cron!: string;
  @ApiField({ example: 'Europe/Berlin' }) timezone!: string;
  @ApiField({ enum: ['skip', 'queue', 'allow'] }) overlap!: string;
  @ApiField({ enum: ['none', 'last', 'all'] }) catchUp!: string;
  @ApiField({ required: false, format: 'date-time', description: 'Absent while it is paused.' }) next?: Date;
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'The saga that was started last: sagaId, at, triggered, and its status until it has ended.',
  })
  last?: object;
  @ApiField({
    required: false,
    format: 'date-time',
    description: 'The last time at which no saga was started because an earlier one had not ended.',
  })
  skippedAt?: Date;
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'Present while it is paused: at, by, reason.',
  })
  paused?: object;
  @ApiField({ type: 'string', isArray: true, description: 'The actions that this operator may take now.' })
  actions!: readonly string[];
}

export class OperatorOfScheduleDto {
  @ApiField({ required: false }) reason?: string;
  @ApiField({ required: false, description: 'The operator, if the application does not identify one.' })
  by?: string;
}

export class ScheduleDoneDto {
  @ApiField({}) done!: boolean;
}

export class TriggeredDto {
  @ApiField({ description: 'The id of the saga.' }) id!: string;
}
