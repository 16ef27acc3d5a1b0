import { Type } from 'class-transformer';
import {
  IsDefined,
  IsIn,
  IsInt,
  IsISO31661Alpha2,
  IsNotEmpty,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';
import { CATALOG } from './catalog.js';

class AddressDto {
  @IsString()
  @IsNotEmpty()
  @MaxLength(100)
  name!: string;

  @IsString()
  @IsNotEmpty()
  @MaxLength(100)
  street!: string;

  @IsString()
  @IsNotEmpty()
  @MaxLength(100)
  city!: string;

  @IsISO31661Alpha2()
  country!: string;
}

export class PlaceOrderDto {
  @IsIn(Object.keys(CATALOG))
  sku!: string;

  @IsInt()
  @Min(1)
  @Max(20)
  quantity!: number;

  /** What a payment form gives instead of a card's number. */
  @Matches(/^tok_\w{1,60}$/)
  paymentToken!: string;

  @ValidateNested()
  @IsDefined()
  @Type(() => AddressDto)
  address!: AddressDto;
}
