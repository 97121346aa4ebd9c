"""Questions to a table: who is protected, what is asked, what it costs, and the rows that count."""
