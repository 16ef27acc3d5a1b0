import {
  Body,
  Controller,
  Get,
  NotFoundException,
  Param,
  ParseUUIDPipe,
  Put,
  UnprocessableEntityException,
} from '@nestjs/common';
import { IsInt, IsNotEmpty, IsString, Max, MaxLength, Min } from 'class-validator';
import { euros } from 'demo-support';
import { DataSource } from 'typeorm';
import { Credit } from './credit.entity.js';
import { Customer } from './customer.entity.js';

export class CustomerDto {
  @IsString()
  @IsNotEmpty()
  @MaxLength(100)
  name!: string;

  /** In cents. */
  @IsInt()
  @Min(0)
  @Max(2_000_000_000)
  creditLimit!: number;
}

@Controller()
export class CustomersController {
  constructor(private readonly dataSource: DataSource) {}

  /** A new customer, or another limit; not below what is reserved. */
  @Put('customers/:id')
  async put(@Param('id') id: string, @Body() { name, creditLimit }: CustomerDto): Promise<Customer> {
    return this.dataSource.transaction(async (manager) => {
      await manager
        .createQueryBuilder()
        .insert()
        .into(Customer)
        .values({ id, name, creditLimit })
        .orIgnore()
        .execute();
      const lock = { mode: 'pessimistic_write' } as const;
      const customer = await manager.findOneOrFail(Customer, { where: { id }, lock });
      if (creditLimit < customer.reserved) {
        throw new UnprocessableEntityException(`${euros(customer.reserved)} of the limit are reserved`);
      }
      return manager.save(Customer, { ...customer, name, creditLimit });
    });
  }

  @Get('customers/:id')
  async get(@Param('id') id: string): Promise<Customer> {
    const customer = await this.dataSource.manager.findOneBy(Customer, { id });
    if (!customer) throw new NotFoundException(`There is no customer ${id}`);
    return customer;
  }

  /** What became of an order's request for credit. */
  @Get('credits/:orderId')
  async credit(@Param('orderId', ParseUUIDPipe) orderId: string): Promise<Credit> {
    const credit = await this.dataSource.manager.findOneBy(Credit, { orderId });
    if (!credit) throw new NotFoundException(`No credit was requested for the order ${orderId} yet`);
    return credit;
  }
}
