import { ApiField } from '../api-docs.js';

export class PausedStepDto {
  @ApiField({ description: 'The name of the saga.' }) saga!: string;
  @ApiField({ description: 'The name of the step.' }) step!: string;
  @ApiField({ format: 'date-time' }) since!: Date;
  @ApiField({ required: false, description: 'The operator who paused it.' }) by?: string;
  @ApiField({ required: false }) reason?: string;
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'Present once it was resumed: at, by, reason.',
  })
  resumed?: object;
  @ApiField({
    required: false,
    type: 'string',
    isArray: true,
    description: 'In an application with shards: those on which it is paused.',
  })
  shards?: readonly string[];
  @ApiField({ type: 'string', isArray: true, description: 'The actions that this operator may take now.' })
  actions!: readonly string[];
}

export class PausedStepsDto {
  @ApiField({ type: PausedStepDto, isArray: true }) items!: readonly PausedStepDto[];
  @ApiField({
    required: false,
    type: 'string',
    isArray: true,
    description: 'The shards that could not be reached: their pauses are missing.',
  })
  unreachable?: readonly string[];
}

export class OperatorOfStepDto {
  @ApiField({ required: false }) reason?: string;
  @ApiField({ required: false, description: 'The operator, if the application does not identify one.' })
  by?: string;
}

export class StepDoneDto {
  @ApiField({}) done!: boolean;
}
