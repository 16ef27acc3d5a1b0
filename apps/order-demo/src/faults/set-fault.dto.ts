import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { FAULT_MODES, type FaultMode } from './fault.entity.js';

export class SetFaultDto {
  @IsIn(FAULT_MODES)
  mode!: FaultMode;

  /** Default: every operation of the participant. */
  @IsOptional()
  @IsString()
  operation?: string;

  /** How many calls it hits; default: all, until it is taken away. */
  @IsOptional()
  @IsInt()
  @Min(1)
  times?: number;

  /** Milliseconds, for `slow`. */
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(600_000)
  delay: number = 3_000;
}
