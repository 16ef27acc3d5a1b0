export interface Address {
  name: string;
  street: string;
  city: string;
  /** ISO 3166-1 alpha-2, such as NL. */
  country: string;
}
