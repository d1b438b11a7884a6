# Count primes with the sieve of Eratosthenes.
use strict;
use warnings;

sub primes_below {
    my ($limit) = @_;
    my @composite = (0) x $limit;
    my $count = 0;
    for my $candidate (2 .. $limit - 1) {
        next if $composite[$candidate];
        $count++;
        for (my $multiple = $candidate * $candidate; $multiple < $limit; $multiple += $candidate) {
            $composite[$multiple] = 1;
        }
    }
    return $count;
}

my $found;
$found = primes_below(200_000) for 1 .. $ARGV[0];
print "$found\n";
