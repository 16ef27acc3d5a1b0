import { Type } from 'class-transformer';
import {
  IsDefined,
  IsInt,
  IsNotEmpty,
  IsOptional,
  IsString,
  IsUUID,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';

class CardDto {
  @IsString()
  @IsNotEmpty()
  @MaxLength(100)
  token!: string;

  /** The last month, such as `2031-05`. */
  @Matches(/^\d{4}-(0[1-9]|1[0-2])$/)
  expires!: string;
}

export class PlaceOrderDto {
  /** The client's name for this order: the same again is the same order. Default: a new one. */
  @IsOptional()
  @IsUUID()
  id?: string;

  @IsString()
  @IsNotEmpty()
  @MaxLength(100)
  customerId!: string;

  /** In cents. */
  @IsInt()
  @Min(1)
  @Max(1_000_000_000)
  amount!: number;

  @IsDefined()
  @ValidateNested()
  @Type(() => CardDto)
  card!: CardDto;
}
