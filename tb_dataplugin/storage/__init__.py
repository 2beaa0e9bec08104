"""`probe-storage`: what reading the user's own sample files costs here, as they are and packed in other ways."""
