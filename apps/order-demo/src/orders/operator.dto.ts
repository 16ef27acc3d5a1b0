import { IsIn, IsNotEmpty, IsOptional, IsString, MaxLength } from 'class-validator';
import type { SagaStatus } from 'nestjs-durable-saga';

const STATUSES: readonly SagaStatus[] = [
  'running',
  'compensating',
  'completed',
  'compensated',
  'stuck',
  'suspended',
  'paused',
  'aborted',
];

export class FindSagasDto {
  @IsOptional()
  @IsIn(STATUSES)
  status?: SagaStatus;

  @IsOptional()
  @IsString()
  cursor?: string;
}

export class ReasonDto {
  @IsOptional()
  @IsString()
  @MaxLength(1_000)
  reason?: string;
}

export class RetryDto {
  /** Only this one of several. */
  @IsOptional()
  @IsString()
  step?: string;
}

export class ResolveDto extends ReasonDto {
  @IsString()
  @IsNotEmpty()
  step!: string;
}
