/** How the claims of a worker keep out of the way of those of others. */
export type ClaimForm = (typeof CLAIM_FORMS)[number];

export const CLAIM_FORMS = ['skip-locked', 'optimistic'] as const;
