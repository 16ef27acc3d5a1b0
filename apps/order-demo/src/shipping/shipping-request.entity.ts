import { Entity } from 'typeorm';
import { HandledRequest } from '../participant/handled-request.js';

@Entity('shipping_request')
export class ShippingRequest extends HandledRequest {}
