import { ApiField } from '../api-docs.js';

export class TaskApprovalDto {
  @ApiField({ description: 'The operator who approved.' }) by!: string;
  @ApiField({ required: false }) comment?: string;
  @ApiField({ format: 'date-time' }) at!: Date;
}

export class TaskDto {
  @ApiField({ description: 'The id of the saga.' }) id!: string;
  @ApiField({ description: 'The name of the saga.' }) saga!: string;
  @ApiField({}) version!: number;
  @ApiField({}) correlationId!: string;
  @ApiField({ type: 'object', additionalProperties: { type: 'string' } }) tags!: object;
  @ApiField({ description: 'The step to approve or reject.' }) step!: string;
  @ApiField({ format: 'date-time', description: 'Since when the step waits.' }) since!: Date;
  @ApiField({ required: false, format: 'date-time', description: 'Absent if it waits without a limit.' })
  until?: Date;
  @ApiField({ description: 'The number of operators who have to approve it.' }) quorum!: number;
  @ApiField({ type: [TaskApprovalDto], description: 'Those who have approved it, in their order.' })
  approvals!: readonly TaskApprovalDto[];
  @ApiField({ type: 'string', isArray: true, description: 'The actions that this operator may take now.' })
  actions!: readonly string[];
}

export class TaskPageDto {
  @ApiField({ type: [TaskDto] }) items!: readonly TaskDto[];
  @ApiField({ required: false, description: 'The `cursor` of the next page. Absent on the last page.' })
  next?: string;
  @ApiField({
    required: false,
    type: 'string',
    isArray: true,
    description: 'The shards that could not be reached: their steps are missing.',
  })
  unreachable?: readonly string[];
}
